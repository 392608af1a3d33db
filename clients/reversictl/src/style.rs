//! Colours of the terminal, or none: the only file that knows escape sequences for colour.

/// Whether to colour, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    color: bool,
}

impl Style {
    /// With colours, or without.
    pub fn new(color: bool) -> Self {
        Self { color }
    }

    /// Whether there are colours.
    pub fn colored(self) -> bool {
        self.color
    }

    fn sequence(self, codes: &str, text: &str) -> String {
        if self.color { format!("\x1b[{codes}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// What matters most of a line.
    pub fn strong(self, text: &str) -> String {
        self.sequence("1", text)
    }

    /// What matters least.
    pub fn faint(self, text: &str) -> String {
        self.sequence("2", text)
    }

    /// Text in one of the 256 colours on another.
    pub fn on(self, foreground: u8, background: u8, text: &str) -> String {
        self.sequence(&format!("1;38;5;{foreground};48;5;{background}"), text)
    }
}
