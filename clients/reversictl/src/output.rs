//! Where everything that a command says goes: results to standard output, remarks to standard error, each as text
//! or as JSON.

use std::io::{self, Write as _};

use serde_json::Value;

use crate::args::{ColorWhen, Global};
use crate::errors::Failure;
use crate::json::{self, Named};
use crate::{escape, style::Style};

/// How to speak. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Results as JSON, one object a line.
    pub json: bool,
    /// Colours, or none.
    pub style: Style,
    /// Standard output is a terminal, so a board can be redrawn in place.
    pub terminal: bool,
}

impl Output {
    /// As the flags and the surroundings ask.
    pub fn new(global: &Global) -> Self {
        use std::io::IsTerminal as _;
        let terminal = io::stdout().is_terminal();
        let color = match global.color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => {
                terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        };
        Self { json: global.json, style: Style::new(color), terminal: terminal && !global.json }
    }

    /// Says a result: the message as JSON, or the text.
    pub fn result<M: Named>(
        &self,
        message: &M,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if self.json { self.line(&json::line(message)) } else { self.line(text().trim_end()) }
    }

    /// Says a result that is no message of the contract.
    pub fn value(&self, value: &Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
        if self.json {
            self.line(&escape::json(&value.to_string()))
        } else {
            self.line(text().trim_end())
        }
    }

    /// Draws the text over what was drawn before, on a terminal; else it is one more block, with an empty line after it.
    pub fn frame(&self, text: &str) -> Result<(), Failure> {
        if !self.terminal {
            return self.line(&format!("{}\n", text.trim_end()));
        }
        write(&redraw(text))
    }

    /// Makes room for [`Output::frame`]s.
    pub fn clear(&self) -> Result<(), Failure> {
        if self.terminal { write("\x1b[2J") } else { Ok(()) }
    }

    /// One line, or lines, of standard output.
    pub fn line(&self, line: &str) -> Result<(), Failure> {
        write(&format!("{line}\n"))
    }

    /// A remark on standard error that is no result: `{"notice": …}` with JSON. Nobody reading it is no fault.
    pub fn notice(&self, text: &str) {
        let line = if self.json {
            escape::json(&serde_json::json!({ "notice": text }).to_string())
        } else {
            text.to_owned()
        };
        let _ = writeln!(io::stderr(), "{line}");
    }
}

/// The text from the top left, each line cleared to its end, then all below: no flicker, and nothing old is left over.
fn redraw(text: &str) -> String {
    let mut frame = String::from("\x1b[H");
    for line in text.trim_end().lines() {
        frame.push_str(line);
        frame.push_str("\x1b[K\n");
    }
    frame + "\x1b[J"
}

fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::Output)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_frame_covers_all_of_the_frame_before() {
        assert_eq!(super::redraw("ab\n\nc\n\n"), "\x1b[Hab\x1b[K\n\x1b[K\nc\x1b[K\n\x1b[J");
    }
}
