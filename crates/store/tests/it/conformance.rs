//! Every store does what the seam says.

use armarius_engine::seam::Store;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::conformance::exercise;
use armarius_store::postgres;
use armarius_store::{Memory, Options, Postgres, Sqlite};

#[test]
fn memory_conforms() {
    exercise(&mut || Box::new(Memory::new()));
}

#[test]
fn sqlite_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = 0;
    exercise(&mut || -> Box<dyn Store> {
        made += 1;
        let path = folder.path().join(format!("{made}.db"));
        Box::new(Sqlite::open(&path, Options::small()).unwrap())
    });
}

#[test]
fn postgres_conforms() {
    let cluster = Cluster::shared();
    exercise(&mut || -> Box<dyn Store> {
        let options = postgres::Options::default();
        Box::new(Postgres::open(&cluster.fresh_url(), 0, options).unwrap())
    });
}

/// With names the server reads each statement once per connection; a mistake in between must not
/// leave a name that it never heard.
#[test]
fn postgres_conforms_with_named_statements() {
    let cluster = Cluster::shared();
    exercise(&mut || -> Box<dyn Store> {
        let url = format!("{}&named_statements=on&connections=2", cluster.fresh_url());
        Box::new(Postgres::open(&url, 0, postgres::Options::default()).unwrap())
    });
}
