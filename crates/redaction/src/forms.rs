//! The forms in which one value may be printed: as it is, escaped, or encoded.

use std::collections::BTreeSet;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};

/// Columns after which `base64` and `openssl base64` break their lines.
const WRAPS: [usize; 2] = [76, 64];

/// Values up to this length get the forms that only rare encoders print as well. Long ones are keys
/// and files; the common forms of those keep the number of bytes to search for bounded.
const RARE_FORMS_UP_TO: usize = 256;

/// Lines of values up to this length are also searched for encoded on their own. In an encoding of
/// the whole value they are found in any case.
const ENCODED_LINES_UP_TO: usize = 1024;

/// Adds every form of a value and of each of its lines that `counts`.
pub(crate) fn add_forms(
    value: &[u8],
    counts: impl Fn(&[u8]) -> bool,
    forms: &mut BTreeSet<Vec<u8>>,
) {
    add_encoded(value, forms);
    add_escaped(value, forms);
    let lines: BTreeSet<&[u8]> = value
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .map(<[u8]>::trim_ascii)
        .filter(|line| line.len() < value.len() && counts(line))
        .collect();
    for line in lines {
        add_escaped(line, forms);
        if value.len() <= ENCODED_LINES_UP_TO {
            add_encoded(line, forms);
        }
    }
}

fn add_encoded(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    add_base64(value, forms);
    add_hex(value, forms);
}

fn add_escaped(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    forms.insert(value.to_vec());
    add_url(value, forms);
    add_json(value, forms);
    add_shell(value, forms);
}

/// Base64 of the value at each of the three places where it may begin within a larger encoded text,
/// in both alphabets. The part that depends on nothing but the value is a form, and so is that part
/// with the end of the text after it, padded or not.
fn add_base64(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    for before in 0..3 {
        let mut text = vec![0; before];
        text.extend_from_slice(value);
        let first = (8 * before).div_ceil(6);
        let fixed = 8 * text.len() / 6;
        for encoded in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
            forms.insert(encoded.as_bytes()[first..fixed].to_vec());
            forms.insert(encoded.as_bytes()[first..].to_vec());
        }
        for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
            forms.insert(encoded.as_bytes()[first..].to_vec());
        }
    }
    let encoded = STANDARD.encode(value);
    for width in WRAPS {
        if encoded.len() > width {
            let lines: Vec<&[u8]> = encoded.as_bytes().chunks(width).collect();
            forms.insert(lines.join(&b'\n'));
        }
    }
}

fn add_hex(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    let mut lower = Vec::with_capacity(2 * value.len());
    let mut upper = Vec::with_capacity(2 * value.len());
    for byte in value {
        lower.extend_from_slice(format!("{byte:02x}").as_bytes());
        upper.extend_from_slice(format!("{byte:02X}").as_bytes());
    }
    forms.insert(lower);
    forms.insert(upper);
}

/// Characters that percent-encoders leave alone beside letters and digits: RFC 3986; the same for a
/// whole path; JavaScript's `encodeURIComponent`; HTML forms; Go's path segments; whole URLs.
const URL_PLAIN: [&[u8]; 6] = [
    b"-_.~",
    b"-_.~/",
    b"-_.~!*'()",
    b"-_.*",
    b"-_.~$&+=:@",
    b"-_.~!*'();:@&=+$,/?#[]",
];

/// How many of them, from the first on, are common.
const COMMON_URL_PLAIN: usize = 2;

fn add_url(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    let rare = if value.len() <= RARE_FORMS_UP_TO {
        URL_PLAIN.len()
    } else {
        COMMON_URL_PLAIN
    };
    for plain in &URL_PLAIN[..rare] {
        for space in [&b"%20"[..], b"+"] {
            forms.insert(percent_encoded(value, plain, space, HexCase::Upper));
            forms.insert(percent_encoded(value, plain, space, HexCase::Lower));
        }
    }
}

#[derive(Clone, Copy)]
enum HexCase {
    Upper,
    Lower,
}

fn percent_encoded(value: &[u8], plain: &[u8], space: &[u8], case: HexCase) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(value.len());
    for &byte in value {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            encoded.push(byte);
        } else if byte == b' ' {
            encoded.extend_from_slice(space);
        } else {
            let escape = match case {
                HexCase::Upper => format!("%{byte:02X}"),
                HexCase::Lower => format!("%{byte:02x}"),
            };
            encoded.extend_from_slice(escape.as_bytes());
        }
    }
    encoded
}

/// What a JSON encoder escapes beyond what it must.
#[derive(Clone, Copy)]
struct JsonEscapes {
    /// `<`, `>`, `&` and the two line separators, as Go does for HTML.
    html: bool,
    /// Everything outside ASCII, as Python does.
    non_ascii: bool,
    /// `/`, as PHP does.
    slash: bool,
    /// Backspace and form feed as `\u0008` and `\u000c` rather than `\b` and `\f`.
    long: bool,
}

fn add_json(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    let text = String::from_utf8_lossy(value);
    let rare = if value.len() <= RARE_FORMS_UP_TO {
        16
    } else {
        2
    };
    for bits in 0..rare {
        let escapes = JsonEscapes {
            html: bits & 1 != 0,
            non_ascii: bits & 2 != 0,
            slash: bits & 4 != 0,
            long: bits & 8 != 0,
        };
        let once = json_escaped(&text, escapes);
        forms.insert(json_escaped(&once, escapes).into_bytes());
        forms.insert(once.into_bytes());
    }
    // HCL, which is how the tools print strings, escapes the openings of its templates as well.
    let plain = JsonEscapes {
        html: false,
        non_ascii: false,
        slash: false,
        long: true,
    };
    let hcl = json_escaped(&text, plain)
        .replace("${", "$${")
        .replace("%{", "%%{");
    forms.insert(hcl.into_bytes());
}

fn json_escaped(text: &str, escapes: JsonEscapes) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '\u{8}' if !escapes.long => escaped.push_str("\\b"),
            '\u{c}' if !escapes.long => escaped.push_str("\\f"),
            '/' if escapes.slash => escaped.push_str("\\/"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if escapes.html => {
                push_unicode_escape(character, &mut escaped);
            }
            _ if character < ' ' => push_unicode_escape(character, &mut escaped),
            _ if escapes.non_ascii && !character.is_ascii() => {
                push_unicode_escape(character, &mut escaped);
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

fn push_unicode_escape(character: char, escaped: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        escaped.push_str(&format!("\\u{unit:04x}"));
    }
}

/// How shells print a word that holds a single quote when they trace commands.
fn add_shell(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    if !value.contains(&b'\'') {
        return;
    }
    let parts: Vec<&[u8]> = value.split(|byte| *byte == b'\'').collect();
    forms.insert(parts.join(&br"'\''"[..]));
    forms.insert(parts.join(&br#"'"'"'"#[..]));
}
