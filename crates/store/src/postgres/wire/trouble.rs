//! What can go wrong in a conversation, before it is said in the words of the seam.

use std::fmt;
use std::io;

use postgres_protocol::message::backend::ErrorFields;

use fallible_iterator::FallibleIterator as _;

/// Why an exchange did not come to its end.
#[derive(Debug)]
pub(in crate::postgres) enum Trouble {
    /// The server said no. The connection is still good unless `fatal`.
    Server(Complaint),
    /// The connection is gone, or the other side is not heard any more.
    Link(String),
    /// The other side does not speak as a PostgreSQL server does.
    Nonsense(String),
}

/// What a server said.
#[derive(Clone, Debug, Default)]
pub(in crate::postgres) struct Complaint {
    /// The five characters that name the kind of error.
    pub(in crate::postgres) code: String,
    pub(in crate::postgres) text: String,
    /// The server ends the connection.
    pub(in crate::postgres) fatal: bool,
}

impl Complaint {
    /// Reads the fields of an error or a notice.
    pub(in crate::postgres) fn read(mut fields: ErrorFields<'_>) -> Self {
        let mut found = Self::default();
        while let Ok(Some(field)) = fields.next() {
            let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'V' => found.fatal = value == "FATAL" || value == "PANIC",
                b'C' => found.code = value,
                b'M' => found.text = value,
                b'D' => found.text = format!("{} ({value})", found.text),
                _ => {}
            }
        }
        found
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.text, self.code)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(complaint) => complaint.fmt(f),
            Self::Link(why) | Self::Nonsense(why) => f.write_str(why),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                Self::Nonsense(error.to_string())
            }
            _ => Self::Link(error.to_string()),
        }
    }
}
