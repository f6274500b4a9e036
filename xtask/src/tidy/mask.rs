//! Tells code, comments and the insides of literals apart, so that a rule about code is not
//! set off by a sentence, and a brace in a text does not count as a brace.

/// Two copies of a source of exactly its length, in which everything else is blank.
#[derive(Default)]
pub(crate) struct Masks {
    /// Code, with the quotes of literals but not their insides.
    pub(crate) code: String,
    /// Comments, with their slashes.
    pub(crate) comments: String,
}

/// Splits a Rust source.
pub(crate) fn split(text: &str) -> Masks {
    let mut scan = Scan::new(text);
    while scan.at < scan.bytes.len() {
        scan.step();
    }
    Masks { code: into_text(scan.code), comments: into_text(scan.comments) }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    code: Vec<u8>,
    comments: Vec<u8>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        let blank: Vec<u8> =
            text.bytes().map(|byte| if byte == b'\n' { b'\n' } else { b' ' }).collect();
        Self { bytes: text.as_bytes(), at: 0, code: blank.clone(), comments: blank }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            (b'/', b'/') => self.comment_to(|scan| scan.peek(0) == b'\n'),
            (b'/', b'*') => self.block_comment(),
            (b'"', _) => self.string(),
            (b'\'', _) => self.quote(),
            (b'r', b'"' | b'#') if !self.follows_name() => self.raw_string(),
            (b'b' | b'c', b'r') if !self.follows_name() => {
                self.keep_code();
                self.raw_string();
            }
            _ => self.keep_code(),
        }
    }

    fn follows_name(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.bytes.get(at));
        before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    }

    fn keep_code(&mut self) {
        self.code[self.at] = self.bytes[self.at];
        self.at += 1;
    }

    fn keep_comment(&mut self) {
        self.comments[self.at] = self.bytes[self.at];
        self.at += 1;
    }

    fn comment_to(&mut self, ends: fn(&Self) -> bool) {
        while self.at < self.bytes.len() && !ends(self) {
            self.keep_comment();
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.bytes.len() {
            let pair = (self.peek(0), self.peek(1));
            if pair == (b'/', b'*') || pair == (b'*', b'/') {
                depth += if pair.0 == b'/' { 1 } else { -1 };
                self.keep_comment();
            }
            self.keep_comment();
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.keep_code();
        while self.at < self.bytes.len() && self.peek(0) != b'"' {
            self.at += if self.peek(0) == b'\\' { 2 } else { 1 };
        }
        if self.at < self.bytes.len() {
            self.keep_code();
        }
    }

    /// `r"…"`, `r#"…"#`; a raw name such as `r#type` is left as code.
    fn raw_string(&mut self) {
        let mut hashes = 0;
        while self.peek(1 + hashes) == b'#' {
            hashes += 1;
        }
        if self.peek(1 + hashes) != b'"' {
            self.keep_code();
            return;
        }
        for _ in 0..hashes + 2 {
            self.keep_code();
        }
        let closes = |scan: &Self| {
            scan.peek(0) == b'"' && (1..=hashes).all(|ahead| scan.peek(ahead) == b'#')
        };
        while self.at < self.bytes.len() && !closes(self) {
            self.at += 1;
        }
        for _ in 0..(hashes + 1).min(self.bytes.len() - self.at) {
            self.keep_code();
        }
    }

    /// A character such as `'{'`, or a lifetime such as `'a`, which is code.
    fn quote(&mut self) {
        let inside = match self.peek(1) {
            b'\\' => 2 + escape_tail(&self.bytes[self.at + 2..]),
            0..=0x7f => 1,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        };
        self.keep_code();
        if self.peek(inside) == b'\'' {
            self.at += inside;
            self.keep_code();
        }
    }
}

/// Bytes between the character after a backslash and the closing quote: `'\u{7f}'`, `'\x7f'`.
fn escape_tail(rest: &[u8]) -> usize {
    let tail = rest.iter().skip(1).position(|byte| *byte == b'\'');
    tail.unwrap_or(0)
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        String::from_utf8_lossy(error.as_bytes()).replace(char::REPLACEMENT_CHARACTER, " ")
    })
}

#[cfg(test)]
mod tests {
    use super::split;

    fn check(text: &str, code: &str, comments: &str) {
        let masks = split(text);
        assert_eq!(masks.code.len(), text.len(), "{text}");
        assert_eq!(masks.code.trim_end(), code, "code of {text}");
        assert_eq!(masks.comments.trim(), comments, "comments of {text}");
    }

    #[test]
    fn comments_are_not_code() {
        check("a // b {", "a", "// b {");
        check("a /* { /* } */ */ b", "a                 b", "/* { /* } */ */");
        check("/// doc\nfn", "       \nfn", "/// doc");
    }

    #[test]
    fn texts_keep_their_quotes_only() {
        check(r#"f("{ // no")"#, r#"f("       ")"#, "");
        check(r#"f("a\"{")"#, r#"f("    ")"#, "");
        check(r##"f(r#"a"{"#)"##, r##"f(r#"   "#)"##, "");
        check(r#"f(br"{\")"#, r#"f(br"  ")"#, "");
        check("f(\"\u{2192}{\");", "f(\"    \");", "");
    }

    #[test]
    fn characters_are_told_from_lifetimes() {
        check("'{' x", "' ' x", "");
        check(r"'\'' x", r"'  ' x", "");
        check(r"'\u{7f}' x", r"'      ' x", "");
        check(r"'\\' x", r"'  ' x", "");
        check("&'a str '\u{2192}' {", "&'a str '   ' {", "");
    }

    #[test]
    fn raw_names_are_code() {
        check("r#type = xr\"{\"", "r#type = xr\" \"", "");
    }

    #[test]
    fn unfinished_source_ends_quietly() {
        check("f(\"abc", "f(\"", "");
        check("/* abc", "", "/* abc");
        check("r#\"abc", "r#\"", "");
        check("\"\\", "\"", "");
    }
}
