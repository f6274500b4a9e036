//! A command written as one text, split into words as a shell splits it.
//!
//! Quotes and backslashes are respected, and nothing is expanded: no shell will see the command.

/// Signs that mean something to a shell when they stand alone.
const OPERATORS: [&str; 9] = ["|", "||", "&", "&&", ";", "<", "<<", ">", ">>"];

/// The words of a command, or what is wrong with it and what to do.
pub(super) fn split(text: &str) -> Result<Vec<String>, (String, &'static str)> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match sign {
            ' ' | '\t' | '\n' | '\r' => finish(&mut words, word.take())?,
            '\'' => {
                let word = quoted(&mut word);
                let closed = signs.by_ref().find_map(|inner| match inner {
                    '\'' => Some(()),
                    inner => {
                        word.push(inner);
                        None
                    }
                });
                closed.ok_or_else(|| unclosed('\''))?;
            }
            '"' => double_quoted(quoted(&mut word), &mut signs)?,
            '\\' => match signs.next() {
                // A backslash before a line end joins the lines.
                Some('\n') => {}
                Some(next) => quoted(&mut word).push(next),
                None => {
                    return Err(("the command ends in a backslash".to_owned(), "remove it"));
                }
            },
            sign => word.get_or_insert_default().text.push(sign),
        }
    }
    finish(&mut words, word)?;
    Ok(words)
}

#[derive(Default)]
struct Word {
    text: String,
    quoted: bool,
}

fn quoted(word: &mut Option<Word>) -> &mut String {
    let word = word.get_or_insert_default();
    word.quoted = true;
    &mut word.text
}

/// Within double quotes a backslash protects only what would be special there.
fn double_quoted(
    word: &mut String,
    signs: &mut std::str::Chars<'_>,
) -> Result<(), (String, &'static str)> {
    while let Some(sign) = signs.next() {
        match sign {
            '"' => return Ok(()),
            '\\' => match signs.next() {
                Some('\n') => {}
                Some(next @ ('"' | '\\' | '$' | '`')) => word.push(next),
                Some(next) => word.extend(['\\', next]),
                None => return Err(unclosed('"')),
            },
            sign => word.push(sign),
        }
    }
    Err(unclosed('"'))
}

fn finish(words: &mut Vec<String>, word: Option<Word>) -> Result<(), (String, &'static str)> {
    let Some(Word { text, quoted }) = word else {
        return Ok(());
    };
    if !quoted && OPERATORS.contains(&text.as_str()) {
        return Err((
            format!("`{text}` would be passed on as a word, no shell reads this command"),
            "use `script` with its `shell`, or put the sign in quotes",
        ));
    }
    words.push(text);
    Ok(())
}

fn unclosed(quote: char) -> (String, &'static str) {
    (format!("a quote {quote} is never closed"), "close it, or write the command as a list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        for (text, words) in [
            ("convert a.tif  b.jpg", vec!["convert", "a.tif", "b.jpg"]),
            ("a 'b c' d", vec!["a", "b c", "d"]),
            (r#"a "b \"c\" \n" d"#, vec!["a", r#"b "c" \n"#, "d"]),
            (r"a b\ c \'", vec!["a", "b c", "'"]),
            ("a '' \"\"", vec!["a", "", ""]),
            ("a'b'\"c\"", vec!["abc"]),
            ("echo $HOME ~ * `x`", vec!["echo", "$HOME", "~", "*", "`x`"]),
            ("a '|' x|y", vec!["a", "|", "x|y"]),
            ("a \\\n b", vec!["a", "b"]),
            ("", vec![]),
            ("   ", vec![]),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text:?}");
        }
    }

    #[test]
    fn what_cannot_be_split_is_refused() {
        for text in ["a 'b", "a \"b", "a \"b\\", "a \\", "a | b", "make && make test", "a > b"] {
            assert!(split(text).is_err(), "{text:?}");
        }
    }
}
