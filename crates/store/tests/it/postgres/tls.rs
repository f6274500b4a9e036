//! Encryption and passwords, over TCP.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use armarius_core::view::View;
use armarius_engine::seam::StoreError;
use armarius_store::Postgres;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::postgres::Options;

use super::commit;

fn openssl(folder: &Path, words: &[&str]) {
    let mut command = Command::new("openssl");
    command.args(words).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().unwrap().success(), "openssl {words:?}");
}

/// A certificate for `localhost`, and the authority that signed it.
fn certificates(folder: &Path) {
    let ca =
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt";
    openssl(folder, &ca.split(' ').collect::<Vec<_>>());
    let ask = "req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr";
    openssl(folder, &ask.split(' ').collect::<Vec<_>>());
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    let sign = "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 \
                -extfile names -out server.crt";
    openssl(folder, &sign.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn encryption_is_asked_for_as_libpq_does() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let cluster = Cluster::start(&[]).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let data = cluster.folder().join("data");
    for file in ["server.crt", "server.key"] {
        std::fs::copy(folder.path().join(file), data.join(file)).unwrap();
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let owner = std::fs::metadata(&data).unwrap();
        std::os::unix::fs::chown(data.join(file), Some(owner.uid()), Some(owner.gid())).unwrap();
        std::fs::set_permissions(data.join(file), std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    cluster.sql("create role ada superuser login password 'open sesame'").unwrap();
    for (name, value) in
        [("listen_addresses", "localhost"), ("port", &port.to_string()), ("ssl", "on")]
    {
        cluster.sql(&format!("alter system set {name} = '{value}'")).unwrap();
    }
    let rules = "local all all trust\nhost all all all scram-sha-256\n";
    std::fs::write(data.join("pg_hba.conf"), rules).unwrap();
    cluster.stop("fast").unwrap();
    cluster.begin().unwrap();

    let root = folder.path().join("ca.crt").display().to_string();
    let url = |login: &str, host: &str, more: &str| {
        format!("postgres://{login}@{host}:{port}/postgres?schema=tls&notify=off&{more}")
    };
    let verify = format!("sslmode=verify-full&sslrootcert={root}");
    let known = format!("sslmode=verify-ca&sslrootcert={root}");
    let good = "ada:open%20sesame";
    for (login, host, more, wanted) in [
        (good, "localhost", "sslmode=disable", Ok(())),
        (good, "localhost", "sslmode=prefer", Ok(())),
        (good, "127.0.0.1", "sslmode=require", Ok(())),
        (good, "localhost", &*verify, Ok(())),
        (good, "127.0.0.1", &*verify, Err("not valid for name")),
        (good, "127.0.0.1", &*known, Ok(())),
        (good, "localhost", "sslmode=verify-full&sslrootcert=/dev/null", Err("certificates")),
        ("ada:wrong", "localhost", "sslmode=require", Err("password authentication failed")),
        ("ada", "localhost", "sslmode=require", Err("wants a password")),
    ] {
        let opened = Postgres::open(&url(login, host, more), 0, Options::default());
        match (opened, wanted) {
            (Ok(mut store), Ok(())) => {
                commit(&mut store, &mut View::new(0)).unwrap();
            }
            (Err(error), Err(said)) => {
                let text = error.to_string();
                assert!(text.contains(said), "{login} {host} {more}: {text}");
                assert!(!text.contains("sesame"), "{text}");
                assert!(matches!(error, StoreError::Unusable(_) | StoreError::Unavailable(_)));
            }
            (Ok(_), Err(_)) => panic!("{login} {host} {more} was let in"),
            (Err(error), Ok(())) => panic!("{login} {host} {more}: {error}"),
        }
    }
}
