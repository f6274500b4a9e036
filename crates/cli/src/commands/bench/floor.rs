//! `armarius bench floor`: what the machine allows, so that figures can be compared in one run.

use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::figures::{Latencies, grouped};

/// Block of a small durable write, in bytes.
const BLOCK_BYTES: usize = 4_096;
/// Block of the sequential write, in bytes.
const CHUNK_BYTES: usize = 1 << 20;
/// Size of the file that is overwritten, in blocks.
const BLOCKS: u64 = 4_096;

/// Measures durable writes on the disk that holds a folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder whose disk is measured.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Durable writes to measure.
    #[arg(long, default_value_t = 2_000)]
    writes: u64,
    /// Bytes of the sequential write, in MiB.
    #[arg(long, default_value_t = 512)]
    mib: u64,
    /// Print one JSON object instead of lines for people.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new()
        .prefix("armarius-floor-")
        .tempdir_in(&args.dir)
        .with_context(|| format!("cannot write to {}", args.dir.display()))?;
    let mut over = overwrite(&folder.path().join("overwrite"), args.writes)?;
    let mut append = append(&folder.path().join("append"), args.writes)?;
    let rate = sequential(&folder.path().join("sequential"), args.mib)?;
    let figures = [
        over.percentile(50.0),
        over.percentile(99.0),
        append.percentile(50.0),
        append.percentile(99.0),
    ];
    if args.json {
        println!(
            "{}",
            serde_json::json!({
                "overwrite_p50_us": figures[0],
                "overwrite_p99_us": figures[1],
                "append_p50_us": figures[2],
                "append_p99_us": figures[3],
                "sequential_bytes_per_s": rate,
            })
        );
    } else {
        println!("durable 4 KiB overwrite: p50 {} µs, p99 {} µs", figures[0], figures[1]);
        println!("durable 4 KiB append:    p50 {} µs, p99 {} µs", figures[2], figures[3]);
        println!("sequential write:        {} MB/s", grouped(rate / 1_000_000));
    }
    Ok(())
}

fn overwrite(path: &std::path::Path, writes: u64) -> anyhow::Result<Latencies> {
    let mut file = fresh(path)?;
    let block = vec![7_u8; BLOCK_BYTES];
    for _ in 0..BLOCKS {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    let mut latencies = Latencies::default();
    for n in 0..writes {
        let place = n * 257 % BLOCKS * BLOCK_BYTES as u64;
        let began = Instant::now();
        file.seek(SeekFrom::Start(place))?;
        file.write_all(&block)?;
        file.sync_data()?;
        latencies.note(began.elapsed());
    }
    Ok(latencies)
}

fn append(path: &std::path::Path, writes: u64) -> anyhow::Result<Latencies> {
    let mut file = fresh(path)?;
    let block = vec![7_u8; BLOCK_BYTES];
    let mut latencies = Latencies::default();
    for _ in 0..writes {
        let began = Instant::now();
        file.write_all(&block)?;
        file.sync_data()?;
        latencies.note(began.elapsed());
    }
    Ok(latencies)
}

/// Bytes per second of one long write, made durable at its end.
fn sequential(path: &std::path::Path, mib: u64) -> anyhow::Result<u64> {
    let mut file = fresh(path)?;
    let chunk = vec![7_u8; CHUNK_BYTES];
    let began = Instant::now();
    for _ in 0..mib {
        file.write_all(&chunk)?;
    }
    file.sync_all()?;
    let took = began.elapsed().max(Duration::from_micros(1));
    let bytes = u128::from(mib) * CHUNK_BYTES as u128;
    Ok(u64::try_from(bytes * 1_000_000 / took.as_micros()).unwrap_or(u64::MAX))
}

fn fresh(path: &std::path::Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.create_new(true).read(true).write(true);
    options.open(path).with_context(|| format!("cannot write {}", path.display()))
}
