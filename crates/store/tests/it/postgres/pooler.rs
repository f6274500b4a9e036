//! Behind a pooler that gives every transaction another connection.

use std::fmt::Write as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use armarius_core::view::View;
use armarius_store::Postgres;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::conformance::exercise;
use armarius_store::postgres::Options;

use super::{commit_surely, whole};

struct Pooler {
    child: Child,
    folder: std::path::PathBuf,
}

impl Pooler {
    fn start(cluster: &Cluster) -> Self {
        let folder = cluster.folder().join("pooler");
        std::fs::create_dir(&folder).unwrap();
        let (socket, at) = (cluster.folder().display(), folder.display());
        let mut text = String::new();
        write!(
            text,
            "[databases]\npostgres = host={socket} port={} user=postgres\n\
             [pgbouncer]\nlisten_addr =\nunix_socket_dir = {at}\n\
             listen_port = 6432\nauth_type = any\npool_mode = transaction\n\
             default_pool_size = 3\nmax_client_conn = 100\nlogfile = {at}/log\n",
            cluster.port()
        )
        .unwrap();
        let settings = folder.join("pooler.ini");
        std::fs::write(&settings, text).unwrap();
        let owner = std::fs::metadata(cluster.folder()).unwrap();
        let (user, group) = {
            use std::os::unix::fs::MetadataExt as _;
            (owner.uid(), owner.gid())
        };
        std::os::unix::fs::chown(&folder, Some(user), Some(group)).unwrap();
        let mut command = cluster.command("/usr/sbin/pgbouncer");
        command.arg(&settings).stdout(Stdio::null()).stderr(Stdio::null());
        let pooler = Self { child: command.spawn().unwrap(), folder };
        for _ in 0..600 {
            if pooler.folder.join(".s.PGSQL.6432").exists() {
                return pooler;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the pooler does not listen");
    }

    fn url(&self, cluster: &Cluster) -> String {
        let url = cluster.fresh_url();
        let (folder, at) = (cluster.folder().display().to_string(), self.folder.display());
        url.replace(&format!("host={folder}"), &format!("host={at}&port=6432&user=postgres"))
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn the_shared_store_conforms_behind_a_pooler() {
    let cluster = Cluster::start(&[]).unwrap();
    let pooler = Pooler::start(&cluster);
    exercise(&mut || {
        Box::new(Postgres::open(&pooler.url(&cluster), 0, Options::default()).unwrap())
    });
    let url = pooler.url(&cluster);
    let servers: Vec<_> = (0..5)
        .map(|_| {
            let url = url.clone();
            std::thread::spawn(move || {
                let mut store = Postgres::open(&url, 0, Options::default()).unwrap();
                let mut view = View::new(0);
                (0..12).map(|_| commit_surely(&mut store, &mut view).0).collect::<Vec<i64>>()
            })
        })
        .collect();
    let acknowledged: Vec<i64> = servers.into_iter().flat_map(|s| s.join().unwrap()).collect();
    let store = Postgres::open(&url, 0, Options::default()).unwrap();
    whole(&store.dump().unwrap(), &acknowledged);
}
