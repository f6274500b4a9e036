//! Whatever a flow file holds, reading it ends in a right flow or in problems, never in a panic.

#![no_main]

use armarius_core::flow::{check, codec};
use armarius_wire::flowfile::{FILE_BYTES_MAX, Home, Source, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The first byte chooses the kind of file, so that one corpus serves both.
    let Some((&kind, bytes)) = bytes.split_first() else {
        return;
    };
    let file_name = if kind % 2 == 0 {
        "fuzz.yaml"
    } else {
        "fuzz.json"
    };
    let Ok(source) = Source::from_bytes(file_name, bytes) else {
        return;
    };
    match read(&source, Home::Archive) {
        Ok(flow) => {
            assert!(check::check(&flow).is_empty());
            let text = codec::to_text(&flow);
            assert_eq!(codec::from_text(&text).as_ref(), Ok(&flow));
            // Aliases may have made the text longer than a file, and YAML refuses some signs raw.
            let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
            let again = Source {
                file_name: "again.json",
                text: &text,
            };
            if plain && text.len() <= FILE_BYTES_MAX && text.contains("\"on\":") {
                assert_eq!(read(&again, Home::Archive).as_ref(), Ok(&flow));
            }
        }
        Err(error) => assert!(!error.problems.is_empty()),
    }
});
