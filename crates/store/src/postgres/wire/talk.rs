//! A conversation: a script goes out, its answers come back.

use std::time::Instant;

use bytes::{Bytes, BytesMut};
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::{DataRowBody, Message};
use postgres_protocol::message::frontend;

use super::script::{Ask, Script};
use super::socket::Socket;
use super::trouble::{Complaint, Trouble};

/// Bytes of one message from the server; more is nonsense or an attack.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// A connection that has said hello.
#[derive(Debug)]
pub(in crate::postgres) struct Talk {
    socket: Socket,
    pub(super) names: Names,
    pub(super) out: BytesMut,
    heard: BytesMut,
    /// What the server warned about during the last exchange.
    pub(in crate::postgres) warnings: Vec<Complaint>,
    /// What other connections told this one.
    pub(in crate::postgres) told: Vec<String>,
    /// Whether a transaction is open, as the server last said.
    pub(in crate::postgres) open: bool,
    /// Whether answers may be outstanding: such a connection is not used again.
    pub(in crate::postgres) broken: bool,
}

/// Most statements that a connection gives names to.
const NAMES_MAX: usize = 256;

/// Names of statements that the server has read once and need not read again.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Behind a pooler the next transaction may meet a server that has never heard of them.
    pub(super) given: bool,
    known: Vec<(Box<str>, u64)>,
    next: u64,
}

impl Names {
    /// The name of a statement, empty if it has none; and whether the server is to read it first.
    fn of(&mut self, ask: &Ask) -> (String, bool) {
        if let Some((_, n)) = self.known.iter().find(|(sql, _)| *sql == ask.sql) {
            return (format!("s{n}"), false);
        }
        if !self.given || !ask.is_lasting() || self.known.len() >= NAMES_MAX {
            return (String::new(), true);
        }
        // A name is never given twice: the server may have heard one that was taken back.
        self.next += 1;
        self.known.push((ask.sql.clone(), self.next));
        (format!("s{}", self.next), true)
    }
}

/// What came of one statement.
#[derive(Debug, Default)]
pub(in crate::postgres) struct Reply {
    pub(in crate::postgres) rows: Vec<Row>,
    /// Rows changed.
    pub(in crate::postgres) count: u64,
}

/// A row as it came.
#[derive(Clone, Debug)]
pub(in crate::postgres) struct Row {
    bytes: Bytes,
    cells: Vec<Option<(usize, usize)>>,
}

impl Row {
    /// The bytes of a cell: `None` past the end, `Some(None)` for a null.
    pub(in crate::postgres) fn get(&self, i: usize) -> Option<Option<&[u8]>> {
        let range = self.cells.get(i)?;
        Some(range.and_then(|(from, to)| self.bytes.get(from..to)))
    }

    /// Bytes of all cells.
    pub(in crate::postgres) fn bytes_len(&self) -> usize {
        self.bytes.len()
    }

    fn read(body: &DataRowBody) -> Result<Self, Trouble> {
        let mut cells = Vec::with_capacity(16);
        let mut ranges = body.ranges();
        while let Some(range) = ranges.next()? {
            cells.push(range.map(|r| (r.start, r.end)));
        }
        Ok(Self { bytes: body.buffer_bytes().clone(), cells })
    }
}

impl Talk {
    pub(super) fn new(socket: Socket) -> Self {
        Self {
            socket,
            names: Names::default(),
            out: BytesMut::new(),
            heard: BytesMut::new(),
            warnings: Vec::new(),
            told: Vec::new(),
            open: false,
            broken: false,
        }
    }

    /// Sends a script and waits for all its answers. After a complaint of the server nothing behind
    /// the statement it is about was done.
    pub(in crate::postgres) fn run(
        &mut self,
        script: Script,
        until: Instant,
    ) -> Result<Vec<Reply>, Trouble> {
        let asks = script.len();
        let known = self.names.known.len();
        for ask in script.asks {
            let (name, is_new) = self.names.of(&ask);
            if is_new {
                ask.parse(&name, &mut self.out)?;
            }
            ask.execute(&name, &mut self.out)?;
        }
        frontend::sync(&mut self.out);
        let outcome = self.exchange(asks, until);
        if outcome.is_err() {
            // Whether the server has read those behind the mistake is not known.
            self.names.known.truncate(known);
        }
        outcome
    }

    /// Sends plain text: several statements without values.
    pub(in crate::postgres) fn say(&mut self, sql: &str, until: Instant) -> Result<(), Trouble> {
        frontend::query(sql, &mut self.out)?;
        self.exchange(0, until).map(drop)
    }

    /// Waits for what others tell this connection.
    pub(in crate::postgres) fn listen(&mut self, until: Instant) -> Result<(), Trouble> {
        match self.hear(until) {
            Ok(message) => {
                self.aside(&message);
                Ok(())
            }
            Err(Trouble::Link(_)) if crate::clock::tick() >= until => Ok(()),
            Err(trouble) => {
                self.broken = true;
                Err(trouble)
            }
        }
    }

    fn exchange(&mut self, asks: usize, until: Instant) -> Result<Vec<Reply>, Trouble> {
        self.warnings.clear();
        self.broken = true;
        self.send(until)?;
        let replies = self.replies(asks, until)?;
        self.broken = false;
        match replies {
            Ok(replies) if asks > 0 && replies.len() != asks => {
                self.broken = true;
                Err(Trouble::Nonsense("the server left statements unanswered".to_owned()))
            }
            Ok(replies) => Ok(replies),
            Err(complaint) => {
                self.broken = complaint.fatal;
                Err(Trouble::Server(complaint))
            }
        }
    }

    fn replies(
        &mut self,
        asks: usize,
        until: Instant,
    ) -> Result<Result<Vec<Reply>, Complaint>, Trouble> {
        let mut replies = Vec::with_capacity(asks);
        let mut reply = Reply::default();
        let mut complaint: Option<Complaint> = None;
        loop {
            match self.hear(until) {
                Ok(Message::DataRow(body)) => reply.rows.push(Row::read(&body)?),
                Ok(Message::CommandComplete(body)) => {
                    reply.count = count_of(body.tag()?);
                    replies.push(std::mem::take(&mut reply));
                }
                Ok(Message::EmptyQueryResponse) => replies.push(std::mem::take(&mut reply)),
                Ok(Message::ErrorResponse(body)) => {
                    let new = Complaint::read(body.fields());
                    complaint = Some(complaint.unwrap_or(new));
                }
                Ok(Message::ReadyForQuery(body)) => {
                    self.open = body.status() != b'I';
                    return Ok(complaint.map_or(Ok(replies), Err));
                }
                Ok(message) => self.aside(&message),
                // What the server said last says more than that it is gone.
                Err(Trouble::Link(why)) => {
                    let said = complaint.map(|c| format!("{why}, after: {c}"));
                    return Err(Trouble::Link(said.unwrap_or(why)));
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    fn aside(&mut self, message: &Message) {
        match message {
            Message::NoticeResponse(body) => self.warnings.push(Complaint::read(body.fields())),
            Message::NotificationResponse(body) => {
                self.told.extend(body.message().ok().map(str::to_owned));
            }
            _ => {}
        }
    }

    pub(super) fn send(&mut self, until: Instant) -> Result<(), Trouble> {
        Ok(self.socket.send(&mut self.out, &mut self.heard, until)?)
    }

    /// The next message, waiting for it.
    pub(super) fn hear(&mut self, until: Instant) -> Result<Message, Trouble> {
        loop {
            if let Some(message) = Message::parse(&mut self.heard)? {
                return Ok(message);
            }
            if self.heard.len() > MESSAGE_BYTES_MAX {
                return Err(Trouble::Nonsense("a message of the server has no end".to_owned()));
            }
            self.socket.receive(&mut self.heard, until)?;
        }
    }

    /// Says goodbye; whether it is heard does not matter.
    pub(in crate::postgres) fn leave(&mut self, until: Instant) {
        frontend::terminate(&mut self.out);
        self.send(until).ok();
    }
}

/// The number of rows at the end of `UPDATE 5`, `INSERT 0 5`, `COPY 5`.
fn count_of(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or_default()
}
