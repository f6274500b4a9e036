//! The output of tasks: whole while it is moderate, then both ends; repeated, cut and half-written.

use std::path::{Path, PathBuf};

use armarius_core::ids::{LeaseId, TaskId, Token};
use armarius_engine::output::{About, OutputKey, Outputs, Piece};
use armarius_store::OutputFiles;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::output::Before;
use armarius_store::postgres::{Database, Options, OutputRows};

const KEY: OutputKey = OutputKey { task: TaskId(1234), token: Token(7) };
const ABOUT: About = About { key: KEY, attempt: 2, lease: LeaseId(99) };

/// Segments have 10 bytes.
fn open(folder: &Path) -> Box<dyn Outputs> {
    Box::new(OutputFiles::open(folder, 20).unwrap())
}

fn rows(url: &str) -> OutputRows {
    Database::open(url, Options::default()).unwrap().outputs(20)
}

/// Does the same with every place that output can be in.
fn everywhere(test: impl Fn(&dyn Outputs)) {
    let folder = tempfile::tempdir().unwrap();
    test(&*open(folder.path()));
    test(&rows(&Cluster::shared().fresh_url()));
    let folder = tempfile::tempdir().unwrap();
    let before = OutputFiles::open(folder.path(), 20).unwrap();
    test(&Before { now: rows(&Cluster::shared().fresh_url()), before });
}

/// What is there, each piece with its offset: `0:abc 7:x of 8`.
fn shown(outputs: &dyn Outputs) -> String {
    let (mut from, mut pieces) = (0, Vec::<String>::new());
    loop {
        let piece = outputs.read(KEY, from, 4).unwrap();
        if piece.bytes.is_empty() {
            return format!("{}of {}", pieces.concat(), piece.end);
        }
        match pieces.last_mut() {
            Some(last) if piece.from == from => {
                *last = format!("{}{} ", last.trim_end(), String::from_utf8_lossy(&piece.bytes));
            }
            _ => pieces.push(format!("{}:{} ", piece.from, String::from_utf8_lossy(&piece.bytes))),
        }
        from = piece.from + piece.bytes.len() as u64;
    }
}

/// The newest file.
fn newest(folder: &Path) -> PathBuf {
    let files = std::fs::read_dir(folder.join("1")).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.pop().unwrap()
}

#[test]
fn chunks_come_in_order_or_again() {
    everywhere(in_order_or_again);
}

fn in_order_or_again(outputs: &dyn Outputs) {
    assert_eq!(outputs.read(KEY, 3, 10).unwrap(), Piece { from: 3, bytes: vec![], end: 0 });
    assert_eq!(outputs.append(&ABOUT, 0, b"abc").unwrap(), 3);
    assert_eq!(outputs.append(&ABOUT, 0, b"abc").unwrap(), 3);
    assert_eq!(outputs.append(&ABOUT, 1, b"bcde").unwrap(), 5);
    assert_eq!(shown(outputs), "0:abcde of 5");
    // Something was lost on the way.
    assert_eq!(outputs.append(&ABOUT, 8, b"ij").unwrap(), 10);
    assert_eq!(shown(outputs), "0:abcde 8:ij of 10");
}

#[test]
fn a_large_output_keeps_its_ends() {
    everywhere(keeps_its_ends);
}

fn keeps_its_ends(outputs: &dyn Outputs) {
    let text: Vec<u8> = (0..97).map(|n| b'a' + n % 26).collect();
    for (i, chunk) in text.chunks(7).enumerate() {
        outputs.append(&ABOUT, 7 * i as u64, chunk).unwrap();
        let end = 7 * i + chunk.len();
        let shown = shown(outputs);
        let tail: String = String::from_utf8(text[..end].to_vec()).unwrap();
        assert!(shown.starts_with(&format!("0:{}", &tail[..end.min(10)])), "{shown}");
        assert!(shown.ends_with(&format!("{} of {end}", &tail[end - end.min(10)..])), "{shown}");
        assert!(end > 20 || !shown[2..].contains(':'), "{shown}");
    }
    assert_eq!(shown(outputs), "0:abcdefghij 80:cdefghijklmnopqrs of 97");
}

#[test]
fn it_is_there_after_a_restart_and_half_a_chunk_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).append(&ABOUT, 0, b"abc").unwrap();
    let whole = std::fs::metadata(newest(folder.path())).unwrap().len();
    open(folder.path()).append(&ABOUT, 3, b"defg").unwrap();
    let longer = std::fs::metadata(newest(folder.path())).unwrap().len();
    for length in (0..longer).rev() {
        let file = std::fs::File::options().write(true).open(newest(folder.path())).unwrap();
        file.set_len(length).unwrap();
        let outputs = open(folder.path());
        let expected = if length >= whole { "0:abc of 3" } else { "of 0" };
        assert_eq!(shown(&*outputs), expected, "cut to {length}");
        if length % 9 == 0 {
            outputs.append(&ABOUT, 0, b"abcX").unwrap();
            assert_eq!(shown(&*outputs), "0:abcX of 4", "cut to {length}");
            std::fs::File::options().write(true).open(newest(folder.path())).unwrap();
        }
    }
}

#[test]
fn a_broken_byte_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).append(&ABOUT, 0, b"abc").unwrap();
    let path = newest(folder.path());
    let bytes = std::fs::read(&path).unwrap();
    for at in 24..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 1;
        std::fs::write(&path, &broken).unwrap();
        let shown = shown(&*open(folder.path()));
        // Some bits of a frame's head change nothing; never is something else shown.
        assert!(!shown.contains(':') || shown.contains(":abc"), "byte {at}: {shown}");
    }
}

#[test]
fn attempts_are_told_apart() {
    everywhere(told_apart);
}

fn told_apart(outputs: &dyn Outputs) {
    let about = |token: i64, attempt| About {
        key: OutputKey { token: Token(token), ..KEY },
        attempt,
        lease: LeaseId(u128::try_from(token).unwrap()),
    };
    for token in [9, 10, 8] {
        outputs.append(&about(token, 1), 0, b"a line of more than ten bytes").unwrap();
    }
    let other = About { key: OutputKey { task: TaskId(234), ..KEY }, ..ABOUT };
    outputs.append(&other, 0, b"x").unwrap();
    let found = outputs.of(KEY.task).unwrap();
    assert_eq!(found, [about(8, 1), about(9, 1), about(10, 1)]);
    assert_eq!(outputs.about(KEY).unwrap(), None);
    assert_eq!(outputs.about(about(9, 1).key).unwrap(), Some(about(9, 1)));
    assert_eq!(outputs.of(TaskId(5)).unwrap(), []);
}

/// What one server was sent, another shows; the same chunk through both is there once.
#[test]
fn servers_of_a_database_share_output() {
    let url = Cluster::shared().fresh_url();
    let (one, other) = (rows(&url), rows(&url));
    one.append(&ABOUT, 0, b"abc").unwrap();
    assert_eq!(other.about(KEY).unwrap(), Some(ABOUT));
    assert_eq!(other.append(&ABOUT, 3, b"defg").unwrap(), 7);
    assert_eq!(shown(&one), "0:abcdefg of 7");
    for round in 0..20 {
        let (from, bytes) = (7 + round, b"h");
        std::thread::scope(|scope| {
            for outputs in [&one, &other, &one] {
                scope.spawn(move || outputs.append(&ABOUT, from, bytes).unwrap());
            }
        });
    }
    // Of 27 bytes in segments of ten the first and the newest two are all.
    assert_eq!(shown(&other), format!("0:abcdefg{} of 27", "h".repeat(20)));
}

/// More chunks than are read at once, and more bytes than a chunk has.
#[test]
fn many_and_large_chunks_in_a_database() {
    let url = Cluster::shared().fresh_url();
    let outputs = Database::open(&url, Options::default()).unwrap().outputs(1 << 30);
    let large: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    let mut wanted = Vec::new();
    for n in 0..150_u64 {
        outputs.append(&ABOUT, n, b"x").unwrap();
        wanted.push(b'x');
    }
    assert_eq!(outputs.append(&ABOUT, 150, &large).unwrap(), 1_000_150);
    wanted.extend(&large);
    assert_eq!(outputs.read(KEY, 0, 2_000_000).unwrap().bytes, wanted);
    assert_eq!(outputs.read(KEY, 149, 10).unwrap().bytes, wanted[149..159]);
    let piece = outputs.read(KEY, 900_000, 2_000_000).unwrap();
    assert_eq!((piece.from, piece.end), (900_000, 1_000_150));
    assert_eq!(piece.bytes, wanted[900_000..]);
}

/// A server that moved to a database shows what its files hold.
#[test]
fn what_was_kept_before_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let before = OutputFiles::open(folder.path(), 20).unwrap();
    before.append(&ABOUT, 0, b"old").unwrap();
    let outputs = Before { now: rows(&Cluster::shared().fresh_url()), before };
    assert_eq!(shown(&outputs), "0:old of 3");
    let newer = About { key: OutputKey { token: Token(8), ..KEY }, attempt: 3, ..ABOUT };
    outputs.append(&newer, 0, b"new").unwrap();
    assert_eq!(outputs.of(KEY.task).unwrap(), [ABOUT, newer]);
    assert_eq!(outputs.about(KEY).unwrap(), Some(ABOUT));
    assert_eq!(outputs.read(newer.key, 0, 9).unwrap().bytes, b"new");
}
