//! The schema: made once, refused when it is not ours, explained.

use std::time::Duration;

use armarius_core::view::View;
use armarius_engine::seam::{Database as _, Store as _};
use armarius_store::Postgres;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::postgres::{Database, Options};

use super::commit;

fn schema_of(url: &str) -> &str {
    url.split("schema=").nth(1).unwrap().split('&').next().unwrap()
}

fn refusal(url: &str) -> String {
    match Database::open(url, Options::default()) {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error.to_string(),
    }
}

const KEYS: &str = "select string_agg(i.indexrelid::regclass::text, ' ') from pg_index i
     join pg_class c on c.oid = i.indrelid
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
     where c.relnamespace = 'SCHEMA'::regnamespace and i.indisprimary
     and a.attname <> 'shard' and c.relname not in ('meta', 'place', 'output')";

const COLLATIONS: &str = "select string_agg(c.relname || '.' || a.attname, ' ') from pg_attribute a
     join pg_class c on c.oid = a.attrelid join pg_collation o on o.oid = a.attcollation
     where c.relnamespace = 'SCHEMA'::regnamespace and c.relkind = 'r' and o.collname <> 'C'";

const SET: &str = "update SCHEMA.meta set value = 'VALUE' where key = 'KEY'";
const COUNT: &str = "select count(*) from SCHEMA.VIEW";

#[test]
fn servers_that_start_at_once_make_it_once() {
    let url = Cluster::shared().fresh_url();
    let open = |url: String| std::thread::spawn(move || Database::open(&url, Options::default()));
    let opened: Vec<_> = (0..6).map(|_| open(url.clone())).collect();
    let mut names = Vec::new();
    for database in opened {
        let database = database.join().unwrap().unwrap();
        assert_eq!(database.shards(), 16);
        names.push(database.incarnation().to_owned());
    }
    names.dedup();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn shards_are_chosen_once() {
    let url = Cluster::shared().fresh_url();
    for (asked, got) in [(3, 3), (9, 3)] {
        let url = format!("{url}&shards={asked}");
        let database = Database::open(&url, Options::default()).unwrap();
        assert_eq!(database.shards(), got);
        assert!(database.shard(3).unwrap_err().to_string().contains("the database has 3"));
    }
}

#[test]
fn a_newer_schema_is_refused_unless_it_says_that_we_may() {
    let cluster = Cluster::shared();
    let url = cluster.fresh_url();
    let schema = schema_of(&url);
    drop(Database::open(&url, Options::default()).unwrap());
    let set = |key: &str, value: &str| {
        let sql = SET.replace("SCHEMA", schema).replace("VALUE", value).replace("KEY", key);
        cluster.sql(&sql).unwrap();
    };
    set("schema", "999");
    drop(Database::open(&url, Options::default()).unwrap());
    set("oldest", "998");
    let said = refusal(&url);
    assert!(said.contains("schema 999") && said.contains("newer program"), "{said}");
}

#[test]
fn tables_of_another_program_are_left_alone() {
    let cluster = Cluster::shared();
    let url = cluster.fresh_url();
    let schema = schema_of(&url);
    cluster.sql(&format!("create schema {schema}; create table {schema}.other (a int)")).unwrap();
    assert!(refusal(&url).contains("another program"), "{}", refusal(&url));
}

#[test]
fn a_database_that_is_not_there_is_named() {
    let url = Cluster::shared().fresh_url().replace("/postgres?", "/nowhere?");
    // A server that is busy with others may first say that.
    let mut said = String::new();
    let named = (0..100).any(|_| {
        said = refusal(&url);
        std::thread::sleep(Duration::from_millis(50));
        said.contains("nowhere")
    });
    assert!(named, "{said}");
    let said = refusal("postgres:///a?host=/no/such/folder");
    assert!(said.contains("/no/such/folder"), "{said}");
}

#[test]
fn every_table_is_explained_or_known_by_its_name_and_people_can_read_it() {
    let cluster = Cluster::shared();
    let url = cluster.fresh_url();
    let schema = schema_of(&url);
    let mut store = Postgres::open(&url, 0, Options::default()).unwrap();
    let mut view = View::new(0);
    commit(&mut store, &mut view).unwrap();
    for view in ["items", "tasks", "events"] {
        cluster.sql(&COUNT.replace("SCHEMA", schema).replace("VIEW", view)).unwrap();
    }
    let told = store.describe();
    assert_eq!(told.kind, "postgres");
    assert!(told.place.starts_with("postgres://postgres@/"), "{}", told.place);
    let keys = KEYS.replace("SCHEMA", schema);
    assert_eq!(cluster.sql(&keys).unwrap(), "", "primary keys begin with the shard");
    let collations = COLLATIONS.replace("SCHEMA", schema);
    assert_eq!(cluster.sql(&collations).unwrap(), "", "text is compared by its bytes");
}

#[test]
fn a_user_without_special_rights_is_enough() {
    let cluster = Cluster::shared();
    cluster.sql("create role plain login; grant create on database postgres to plain").unwrap();
    let url = cluster.fresh_url().replace("postgres://postgres@", "postgres://plain@");
    let mut store = Postgres::open(&url, 0, Options::default()).unwrap();
    let mut view = View::new(0);
    commit(&mut store, &mut view).unwrap();
    commit(&mut store, &mut view).unwrap();
    assert_eq!(store.dump().unwrap().events.len(), 2);
}
