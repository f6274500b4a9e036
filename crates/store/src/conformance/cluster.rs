//! A PostgreSQL server of one's own, in a temporary folder, on a private socket: for tests.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Seconds a start or a stop may take.
const PATIENCE_SECONDS: &str = "60";
/// The number of its socket; it is alone in its folder.
const PORT: u16 = 5432;

/// Waits until whoever made the folder is gone, then stops the server and removes the folder.
const GUARD: &str = "cat > /dev/null; \"$1\" -D \"$2/data\" -m immediate stop > /dev/null 2>&1; \
                     rm -rf \"$2\"";

static MADE: AtomicU32 = AtomicU32::new(0);
static SHARED: OnceLock<Cluster> = OnceLock::new();

/// A server that goes away with the process that made it, however that ends.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    tools: Tools,
    /// Its standard input ends when this process does.
    guard: Child,
}

#[derive(Clone, Debug)]
struct Tools {
    folder: PathBuf,
    /// PostgreSQL refuses to run as root.
    user: Option<(u32, u32)>,
}

impl Cluster {
    /// The server all tests of this process share.
    ///
    /// # Panics
    /// When there is none to be had.
    pub fn shared() -> &'static Self {
        SHARED.get_or_init(|| must("start a PostgreSQL server", Self::start(&[])))
    }

    /// Makes a server and starts it, with settings as `name=value`.
    pub fn start(settings: &[&str]) -> io::Result<Self> {
        let cluster = Self::prepare()?;
        let data = cluster.data();
        let mut initdb = cluster.tools.command("initdb");
        initdb.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
        run(initdb.arg("-D").arg(&data))?;
        cluster.configure(settings)?;
        cluster.begin()?;
        Ok(cluster)
    }

    /// Makes a standby that follows this server, and starts it.
    pub fn follow(&self, settings: &[&str]) -> io::Result<Self> {
        let standby = Self::prepare()?;
        let mut copy = standby.tools.command("pg_basebackup");
        copy.args(["-U", "postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync"]);
        run(copy.arg("-h").arg(&self.folder).arg("-D").arg(standby.data()))?;
        standby.configure(settings)?;
        standby.begin()?;
        Ok(standby)
    }

    /// A folder of one's own, with somebody who removes it.
    fn prepare() -> io::Result<Self> {
        let tools = Tools::find()?;
        let n = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("armarius-pg-{}-{n}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        if let Some((user, group)) = tools.user {
            chown(&folder, Some(user), Some(group))?;
        }
        let mut guard = Command::new("sh");
        tools.become_user(&mut guard);
        guard.args(["-c", GUARD, "guard"]).arg(tools.folder.join("pg_ctl")).arg(&folder);
        let guard = guard.stdin(Stdio::piped()).current_dir("/").spawn()?;
        Ok(Self { folder, tools, guard })
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn configure(&self, settings: &[&str]) -> io::Result<()> {
        let file = self.data().join("postgresql.auto.conf");
        let mut text = fs::read_to_string(&file)?;
        let folder = self.folder.display();
        for line in [
            "listen_addresses=''",
            &format!("unix_socket_directories='{folder}'"),
            "max_connections=80",
            "shared_buffers='64MB'",
            "log_min_messages=fatal",
            "max_wal_size='2GB'",
        ] {
            text.push_str(line);
            text.push('\n');
        }
        for line in settings {
            text.push_str(line);
            text.push('\n');
        }
        fs::write(file, text)
    }

    /// Starts the server, which was made or stopped before.
    pub fn begin(&self) -> io::Result<()> {
        let log = self.folder.join("log");
        let mut start = self.tools.command("pg_ctl");
        start.args(["-w", "-t", PATIENCE_SECONDS]).arg("-D").arg(self.data()).arg("-l").arg(log);
        run(start.arg("start"))
    }

    /// Stops the server; `immediate` is what a crash looks like.
    pub fn stop(&self, mode: &str) -> io::Result<()> {
        let mut stop = self.tools.command("pg_ctl");
        stop.args(["-w", "-t", PATIENCE_SECONDS, "-m", mode]).arg("-D").arg(self.data());
        run(stop.arg("stop"))
    }

    /// Makes a standby the server others write to.
    pub fn promote(&self) -> io::Result<()> {
        let mut promote = self.tools.command("pg_ctl");
        promote.args(["-w", "-t", PATIENCE_SECONDS]).arg("-D").arg(self.data());
        run(promote.arg("promote"))
    }

    /// Runs statements, and returns what they answer as text.
    pub fn sql(&self, sql: &str) -> io::Result<String> {
        let mut psql = self.tools.command("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres"]);
        psql.arg("-h").arg(&self.folder).args(["-d", "postgres", "-c", sql]);
        let output = psql.output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    /// Writes a schema into a file in its folder, as `pg_dump` does.
    pub fn dump(&self, schema: &str) -> io::Result<PathBuf> {
        let file = self.folder.join(format!("{schema}.sql"));
        let mut dump = self.tools.command("pg_dump");
        dump.args(["-U", "postgres", "-d", "postgres"]).arg("-h").arg(&self.folder);
        run(dump.arg(format!("--schema={schema}")).arg("-f").arg(&file))?;
        Ok(file)
    }

    /// Removes a schema, and makes it anew from such a file.
    pub fn bring_back(&self, schema: &str, file: &Path) -> io::Result<()> {
        self.sql(&format!("drop schema {schema} cascade"))?;
        let mut psql = self.tools.command("psql");
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", "postgres"]);
        run(psql.arg("-h").arg(&self.folder).arg("-f").arg(file))
    }

    /// The folder of its socket.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The number of its socket.
    #[must_use]
    pub fn port(&self) -> u16 {
        PORT
    }

    /// The address of a schema on it.
    #[must_use]
    pub fn url(&self, schema: &str) -> String {
        let folder = self.folder.display();
        format!(
            "postgres://postgres@/postgres?host={folder}&schema={schema}&notify=off\
             &connect_timeout=60"
        )
    }

    /// The address of a schema nobody else has.
    #[must_use]
    pub fn fresh_url(&self) -> String {
        let n = MADE.fetch_add(1, Ordering::Relaxed);
        self.url(&format!("t{n}"))
    }

    /// A command as the user the server runs as, such as `pgbouncer`.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        self.tools.become_user(&mut command);
        command.current_dir(&self.folder);
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        self.guard.wait().ok();
    }
}

impl Tools {
    fn find() -> io::Result<Self> {
        let mut found: Vec<(u32, PathBuf)> = Vec::new();
        for entry in fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten() {
            let version = entry.file_name().to_string_lossy().parse();
            let folder = entry.path().join("bin");
            if let (Ok(version), true) = (version, folder.join("initdb").exists()) {
                found.push((version, folder));
            }
        }
        let folder = found.into_iter().max().map(|(_, folder)| folder);
        let folder = folder.ok_or_else(|| {
            io::Error::other("PostgreSQL is not installed; cargo xtask setup does that")
        })?;
        let user = if number("-u", None)? == 0 {
            let name = if number("-u", Some("postgres")).is_ok() { "postgres" } else { "nobody" };
            Some((number("-u", Some(name))?, number("-g", Some(name))?))
        } else {
            None
        };
        Ok(Self { folder, user })
    }

    fn command(&self, tool: &str) -> Command {
        let mut command = Command::new(self.folder.join(tool));
        self.become_user(&mut command);
        command.current_dir("/");
        command
    }

    fn become_user(&self, command: &mut Command) {
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
    }
}

/// The number of a user or of their group.
fn number(which: &str, user: Option<&str>) -> io::Result<u32> {
    let output = Command::new("id").arg(which).args(user).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| io::Error::other("there is no such user"))
}

fn run(command: &mut Command) -> io::Result<()> {
    // A server that is started keeps what it inherits, so it must not inherit a pipe.
    let status =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{command:?} failed: {status}")))
}

fn must<T>(what: &str, result: io::Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("cannot {what}: {error}"),
    }
}
