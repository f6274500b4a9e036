//! The event types of the Library of Congress: names that have an address of their own.
//!
//! From the vocabulary <http://id.loc.gov/vocabulary/preservation/eventType>.

/// The vocabulary's address.
pub(super) const AUTHORITY: &str = "http://id.loc.gov/vocabulary/preservation/eventType";

#[rustfmt::skip]
const TYPES: [(&str, &str); 50] = [
    ("acc", "accession"), ("app", "appraisal"), ("cap", "capture"), ("com", "compression"),
    ("cop", "compiling"), ("cre", "creation"), ("dea", "deaccession"), ("dec", "decompression"),
    ("del", "deletion"), ("der", "decryption"), ("dig", "digital signature validation"),
    ("dis", "dissemination"), ("dsg", "digital signature generation"), ("dsp", "displaying"),
    ("enc", "encryption"), ("exe", "execution"), ("exp", "exporting"), ("ext", "extraction"),
    ("ffa", "forensic feature analysis"), ("fil", "filename change"), ("fix", "fixity check"),
    ("for", "format identification"), ("ima", "imaging"), ("ine", "ingestion end"),
    ("ing", "ingestion"), ("ins", "ingestion start"), ("int", "interpreting"),
    ("ipc", "information package creation"), ("ipm", "information package merging"),
    ("ips", "information package splitting"), ("mee", "metadata extraction"),
    ("mem", "metadata modification"), ("mes", "message digest calculation"), ("mig", "migration"),
    ("mod", "modification"), ("nor", "normalization"), ("pac", "packing"),
    ("poa", "policy assignment"), ("prt", "printing"), ("qua", "quarantine"), ("rec", "recovery"),
    ("red", "redaction"), ("ref", "refreshment"), ("ren", "rendering"), ("rep", "replication"),
    ("tra", "transfer"), ("unp", "unpacking"), ("unq", "unquarantine"), ("val", "validation"),
    ("vir", "virus check"),
];

/// The code of an event type, if the name is one.
pub(super) fn code(name: &str) -> Option<&'static str> {
    TYPES.iter().find(|(_, label)| *label == name).map(|(code, _)| *code)
}
