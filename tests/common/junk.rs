//! What a hostile client sends, and what every answer to it must be like.

use std::{
    collections::HashMap,
    panic,
    sync::{
        Once,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use prost::{
    Message as _,
    encoding::{WireType, encode_key, encode_varint},
};
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};
use reversi_proto::DESCRIPTORS;
use tonic::Code;
use tonic_types::StatusExt as _;

use super::raw::Answer;

/// Random numbers, the same for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Texts that mean something to a server, each with the field that it belongs into.
pub type Known = Vec<(&'static str, String)>;

/// The contract, as its descriptors say it: every method, and what each takes.
pub struct Contract {
    /// Names of methods and of their request messages.
    pub methods: Vec<(String, String)>,
    messages: HashMap<String, DescriptorProto>,
}

impl Contract {
    pub fn read() -> Self {
        let set = FileDescriptorSet::decode(DESCRIPTORS).expect("the descriptors are sound");
        let mut methods = Vec::new();
        let mut messages = HashMap::new();
        for file in &set.file {
            let package = format!(".{}", file.package());
            for message in &file.message_type {
                add_messages(&mut messages, &package, message);
            }
            let service = file.service.iter().filter(|service| service.name() == "GameService");
            for method in service.flat_map(|service| &service.method) {
                methods.push((method.name().to_owned(), method.input_type().to_owned()));
            }
        }
        assert!(!methods.is_empty());
        Self { methods, messages }
    }

    /// A message of this type that can be decoded, with anything in its fields, and every other time what is `known` to mean
    /// something to the server in a field of that name.
    pub fn message(&self, random: &mut Random, name: &str, known: &Known) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in &self.messages[name].field {
            let repeated = field.label() == Label::Repeated;
            let count = match random.below(8) {
                0 | 1 => 0,
                2 if repeated => 2 + random.below(6),
                _ => 1,
            };
            for _ in 0..count {
                self.field(random, field, known, &mut bytes);
            }
        }
        bytes
    }

    fn field(
        &self,
        random: &mut Random,
        field: &FieldDescriptorProto,
        known: &Known,
        bytes: &mut Vec<u8>,
    ) {
        let number = u32::try_from(field.number()).expect("field numbers are positive");
        let delimited = |bytes: &mut Vec<u8>, content: &[u8]| {
            encode_key(number, WireType::LengthDelimited, bytes);
            encode_varint(content.len() as u64, bytes);
            bytes.extend(content);
        };
        match field.r#type() {
            Type::String => {
                let fitting: Vec<_> =
                    known.iter().filter(|(name, _)| *name == field.name()).collect();
                let fits = !fitting.is_empty() && random.below(2) == 0;
                let text = if fits { random.pick(&fitting).1.clone() } else { text(random) };
                delimited(bytes, text.as_bytes());
            }
            Type::Bytes => {
                let length = random.below(100);
                delimited(bytes, &random.bytes(length));
            }
            Type::Message => {
                let content = self.message(random, field.type_name(), known);
                delimited(bytes, &content);
            }
            Type::Fixed64 => {
                encode_key(number, WireType::SixtyFourBit, bytes);
                bytes.extend(random.next().to_le_bytes());
            }
            _ => {
                encode_key(number, WireType::Varint, bytes);
                encode_varint(integer(random), bytes);
            }
        }
    }
}

fn add_messages(
    messages: &mut HashMap<String, DescriptorProto>,
    scope: &str,
    message: &DescriptorProto,
) {
    let name = format!("{scope}.{}", message.name());
    for nested in &message.nested_type {
        add_messages(messages, &name, nested);
    }
    messages.insert(name, message.clone());
}

fn text(random: &mut Random) -> String {
    let any = |random: &mut Random, length| {
        let characters = (0..length).map(|_| char::from_u32(random.below(0x11_0000) as u32));
        characters.flatten().collect::<String>()
    };
    match random.below(6) {
        0 => any(random, 20),
        1 => any(random, 64),
        2 => "x".repeat(*random.pick(&[1, 36, 64, 65, 128, 129, 256, 257, 5_000])),
        3 => random.pick(&["\0", "a\nb", "\u{7f}", "\u{202e}", "=", "k=v", "=v", "é"]).to_string(),
        4 => random.pick(&["a1", "d3", "D3", "j10", "k11", "a0", "a99", "", "  "]).to_string(),
        _ => uuid::Uuid::from_u64_pair(random.next(), random.next()).to_string(),
    }
}

fn integer(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.next(),
        1 => *random.pick(&[u64::MAX, i64::MAX as u64, 1 << 63, u64::from(u32::MAX), 1 << 31]),
        2 => random.below(8) as u64,
        _ => random.next() >> random.below(64),
    }
}

/// What a client of every language is willing to read by default.
const HEADER_BYTES_MAX: usize = 8 << 10;

/// Holds an answer to what every one must be: OK, or a refusal that names its reason in a form that every client can
/// read, and is not the server's own fault.
pub fn assert_sound(answer: &Answer, what: &dyn std::fmt::Debug) -> Code {
    assert_eq!(answer.http, 200, "{what:?}");
    assert!(answer.header_bytes() < HEADER_BYTES_MAX, "{} for {what:?}", answer.header_bytes());
    let status = answer.status().unwrap_or_else(|| panic!("no status for {what:?}"));
    if status.code() == Code::Ok {
        return Code::Ok;
    }
    let details = status.get_error_details();
    let info = details.error_info().unwrap_or_else(|| panic!("{status:?} for {what:?}"));
    assert_eq!(info.domain, "reversi.v1");
    let codes: &[Code] = match info.reason.as_str() {
        "INVALID_FIELD" | "REQUEST_ID_REUSED" => &[Code::InvalidArgument],
        "GAME_NOT_FOUND" | "LAYOUT_NOT_FOUND" => &[Code::NotFound],
        "TOKEN_MISSING" => &[Code::Unauthenticated],
        "TOKEN_INVALID" => &[Code::PermissionDenied],
        "VERSION_MISMATCH" => &[Code::Aborted],
        "NO_OPEN_SEAT" | "SEAT_TAKEN" | "GAME_NOT_STARTED" | "GAME_FINISHED" | "SEAT_RESIGNED"
        | "NOT_YOUR_TURN" | "ILLEGAL_MOVE" => &[Code::FailedPrecondition],
        "LIMIT_REACHED" => &[Code::ResourceExhausted],
        "DEADLINE_EXCEEDED" => &[Code::DeadlineExceeded],
        "UNIMPLEMENTED" => &[Code::Unimplemented],
        "STREAM_LIFETIME_REACHED" => &[Code::Unavailable],
        _ => &[],
    };
    assert!(codes.contains(&status.code()), "{status:?} for {what:?}");
    let faults = details.bad_request().map_or(0, |bad| bad.field_violations.len());
    assert!(faults <= 21, "20 and a count, not {faults}");
    assert_eq!(info.reason == "INVALID_FIELD", faults > 0, "{status:?}");
    status.code()
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts every panic of a server in this process from now on. The threads of tests, which are named for them, may panic.
pub fn count_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !thread::current().name().is_some_and(|name| name.contains("::")) {
                PANICS.fetch_add(1, Ordering::SeqCst);
            }
            before(info);
        }));
    });
}

/// Whether no server has panicked since.
pub fn assert_no_panics() {
    assert_eq!(PANICS.load(Ordering::SeqCst), 0, "a server panicked");
}
