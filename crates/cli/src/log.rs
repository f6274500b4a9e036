//! What a server writes while it runs: sentences for people, or one JSON object a line.

use tracing::level_filters::LevelFilter;

/// What is written, and how.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Log {
    /// How the log is written
    #[arg(
        long = "log-format",
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Log"
    )]
    format: Format,
    /// What is written: error, warn, info or debug (every request)
    #[arg(long = "log", value_name = "LEVEL", default_value = "info", help_heading = "Log")]
    level: Level,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

impl Log {
    /// Begins to write.
    pub(crate) fn begin(&self) {
        let level = match self.level {
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
        };
        let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level);
        // A second log of one process, as in tests, is passed over.
        drop(match self.format {
            Format::Text => log.with_ansi(false).with_target(false).try_init(),
            Format::Json => log.json().flatten_event(true).with_target(false).try_init(),
        });
    }

    /// Says something to whoever started the server.
    pub(crate) fn say(&self, text: &str) {
        match self.format {
            Format::Text => eprintln!("{text}"),
            Format::Json => tracing::info!("{text}"),
        }
    }
}
