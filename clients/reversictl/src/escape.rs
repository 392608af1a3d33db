//! Makes text that others wrote safe to show: nothing in it can move the cursor, set a colour or turn the reading direction.

/// Whether a terminal could act on the character instead of showing it.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// The text with every character that a terminal could act on written as `\u{…}`.
pub fn text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if acts(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The same for JSON that is already encoded: such characters can then only stand in strings.
pub fn json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        if acts(character) {
            shown.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_of_others_cannot_steer_the_terminal() {
        assert_eq!(super::text("a\x1b[2Jb\u{9b}c\n"), "a\\u{1b}[2Jb\\u{9b}c\\u{a}");
        assert_eq!(super::text("\u{202e}evil\u{2066}"), "\\u{202e}evil\\u{2066}");
        assert_eq!(super::text("Žofie ♞ 名"), "Žofie ♞ 名");
    }

    #[test]
    fn escaped_json_still_means_the_same() {
        let json = serde_json::to_string("a\x1b\u{9b}\u{202e}z").unwrap();
        let shown = super::json(&json);
        assert!(shown.is_ascii());
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), "a\x1b\u{9b}\u{202e}z");
    }
}
