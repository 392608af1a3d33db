//! How the server's messages become bytes: as tonic-prost does it, but handed to the transport in small pieces.
//!
//! A stream's messages are gathered in one buffer for as long as more are ready, by default up to 32 KiB, and the transport
//! takes two of those for a stream whose peer does not read. So small pieces bound what such a stream holds.

use std::marker::PhantomData;

use prost::Message;
use tonic::codec::{BufferSettings, Codec};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

/// Once so much of a stream is encoded it goes to the transport, with the message that it ends with whole. Also what is
/// allocated at first.
pub const PIECE_BYTES: usize = 4 << 10;

/// The codec of the generated server.
#[derive(Debug)]
pub struct ServerCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for ServerCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for ServerCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::new(BufferSettings::new(PIECE_BYTES, PIECE_BYTES))
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstCodec::<T, U>::raw_decoder(BufferSettings::default())
    }
}
