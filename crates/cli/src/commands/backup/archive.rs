//! The archive of a backup: a plain tar file whose last entry, the manifest, has all digests.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::exit::Failure;

/// The last entry.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The form of the archive.
const FORMAT: u32 = 1;
/// Largest manifest that is read.
const MANIFEST_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Entries of one archive.
const ENTRIES_MAX: usize = 1_000_000;
/// Folders within folders.
const DEPTH_MAX: usize = 16;

/// A file to be taken in.
pub(crate) struct Part {
    /// Its name in the archive, relative to the data folder.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) path: PathBuf,
}

/// What is in an archive.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The form of the archive.
    format: u32,
    /// The program that wrote it.
    version: String,
    /// Every file.
    pub(crate) entries: Vec<Entry>,
}

/// One file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// SHA-256, hexadecimal.
    pub(crate) sha256: String,
}

/// Adds the file of that name, or all files below the folder of that name. Links are passed over:
/// what they lead to is not ours.
pub(crate) fn collect(path: &Path, name: &str, parts: &mut Vec<Part>) -> anyhow::Result<()> {
    collect_below(path, name, parts, 0)
}

fn collect_below(
    path: &Path,
    name: &str,
    parts: &mut Vec<Part>,
    depth: usize,
) -> anyhow::Result<()> {
    let Ok(kind) = path.symlink_metadata().map(|m| m.file_type()) else { return Ok(()) };
    if kind.is_file() {
        parts.push(Part { name: name.to_owned(), path: path.to_owned() });
    } else if kind.is_dir() && depth < DEPTH_MAX {
        let mut inner: Vec<_> = std::fs::read_dir(path)
            .and_then(Iterator::collect)
            .with_context(|| path.display().to_string())?;
        inner.sort_by_key(std::fs::DirEntry::file_name);
        for entry in inner {
            let Some(file_name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            collect_below(&entry.path(), &format!("{name}/{file_name}"), parts, depth + 1)?;
        }
    }
    Ok(())
}

/// An archive being written.
pub(crate) struct Writing {
    tar: tar::Builder<BufWriter<File>>,
    manifest: Manifest,
    bytes: u64,
}

impl Writing {
    pub(crate) fn new(out: File) -> Self {
        let tar = tar::Builder::new(BufWriter::with_capacity(1 << 20, out));
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { tar, manifest: Manifest { format: FORMAT, version, entries: Vec::new() }, bytes: 0 }
    }

    /// Takes a file in. One that grows meanwhile is taken in up to the size it had; one that is
    /// gone meanwhile is left out.
    pub(crate) fn add(&mut self, part: &Part, watch: &mut dyn FnMut(u64)) -> anyhow::Result<()> {
        let file = match File::open(&part.path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(e).with_context(|| part.path.display().to_string()),
        };
        let bytes = file.metadata().with_context(|| part.path.display().to_string())?.len();
        let mut head = header(bytes);
        let before = self.bytes;
        let mut reader = Summed::new(file.take(bytes), |done| watch(before + done));
        self.tar
            .append_data(&mut head, &part.name, &mut reader)
            .with_context(|| part.path.display().to_string())?;
        let (sha256, read) = reader.sum();
        if read != bytes {
            bail!("{} became shorter while it was read", part.path.display());
        }
        self.bytes += bytes;
        self.manifest.entries.push(Entry { name: part.name.clone(), bytes, sha256 });
        Ok(())
    }

    /// Writes the manifest and gives the file back.
    pub(crate) fn finish(mut self) -> anyhow::Result<File> {
        let text = serde_json::to_vec_pretty(&self.manifest)?;
        let mut head = header(text.len() as u64);
        self.tar.append_data(&mut head, MANIFEST, &text[..])?;
        let mut out = self.tar.into_inner()?;
        out.flush()?;
        Ok(out.into_inner().map_err(io::IntoInnerError::into_error)?)
    }
}

fn header(bytes: u64) -> tar::Header {
    let mut head = tar::Header::new_gnu();
    head.set_size(bytes);
    head.set_mode(0o600);
    head.set_entry_type(tar::EntryType::Regular);
    head
}

/// Reads an archive back and holds every digest against the manifest.
pub(crate) fn check(path: &Path) -> anyhow::Result<Manifest> {
    read(path, &mut |_| Ok(None))
}

/// Writes every file of an archive below a folder, and holds every digest against the manifest.
pub(crate) fn unpack(path: &Path, folder: &Path) -> anyhow::Result<Manifest> {
    read(path, &mut |name| {
        let target = folder.join(name);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        }
        let mut options = std::fs::OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let made = options.write(true).create_new(true).open(&target);
        made.map(Some).with_context(|| target.display().to_string())
    })
}

/// Where the content of an entry goes; nowhere when it is only checked.
type Open<'o> = dyn FnMut(&str) -> anyhow::Result<Option<File>> + 'o;

fn read(path: &Path, open: &mut Open<'_>) -> anyhow::Result<Manifest> {
    let shown = path.display().to_string();
    let file = File::open(path).with_context(|| shown.clone())?;
    let mut tar = tar::Archive::new(BufReader::with_capacity(1 << 20, file));
    let mut found: Vec<Entry> = Vec::new();
    let mut manifest: Option<Manifest> = None;
    let broken = || broken(&shown, "it is no backup, or was cut");
    for entry in tar.entries().with_context(broken)? {
        let mut entry = entry.with_context(broken)?;
        let name = entry.path().map(|p| p.into_owned()).with_context(broken)?;
        let name = safe(&name)
            .ok_or_else(|| self::broken(&shown, "it holds a name that leads elsewhere"))?;
        if !entry.header().entry_type().is_file()
            || manifest.is_some()
            || found.len() >= ENTRIES_MAX
        {
            return Err(self::broken(&shown, "it holds what no backup holds").into());
        }
        if name == MANIFEST {
            let mut text = Vec::new();
            (&mut entry).take(MANIFEST_BYTES_MAX).read_to_end(&mut text).with_context(broken)?;
            manifest = Some(serde_json::from_slice(&text).with_context(broken)?);
            continue;
        }
        let target = open(&name)?;
        let mut reader = Summed::new(entry, |_| {});
        match target {
            Some(mut file) => {
                io::copy(&mut reader, &mut file).with_context(|| name.clone())?;
                file.sync_all().with_context(|| name.clone())?;
            }
            None => drop(io::copy(&mut reader, &mut io::sink()).with_context(broken)?),
        }
        let (sha256, bytes) = reader.sum();
        found.push(Entry { name, bytes, sha256 });
    }
    let manifest =
        manifest.ok_or_else(|| self::broken(&shown, "its manifest is missing: it was cut"))?;
    if manifest.format != FORMAT {
        let why = format!("{shown} has form {}, this program knows {FORMAT}", manifest.format);
        return Err(Failure::new(why, "use the program that wrote it").into());
    }
    if manifest.entries != found {
        return Err(self::broken(&shown, "what it holds is not what its manifest says").into());
    }
    Ok(manifest)
}

fn broken(shown: &str, what: &str) -> Failure {
    Failure::corrupt(format!("{shown} cannot be used: {what}"), "use another backup")
}

/// A name that stays within its folder.
fn safe(path: &Path) -> Option<String> {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    path.to_str().filter(|text| plain && !text.is_empty()).map(str::to_owned)
}

/// Reads through, and sums up what was read.
struct Summed<R, W> {
    inner: R,
    sum: Sha256,
    bytes: u64,
    watch: W,
}

impl<R: Read, W: FnMut(u64)> Summed<R, W> {
    fn new(inner: R, watch: W) -> Self {
        Self { inner, sum: Sha256::new(), bytes: 0, watch }
    }

    fn sum(self) -> (String, u64) {
        let hex = self.sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        (hex, self.bytes)
    }
}

impl<R: Read, W: FnMut(u64)> Read for Summed<R, W> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.sum.update(buf.get(..n).unwrap_or_default());
        self.bytes += n as u64;
        (self.watch)(self.bytes);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(folder: &Path) -> PathBuf {
        std::fs::create_dir_all(folder.join("in/sub")).unwrap();
        std::fs::write(folder.join("in/a"), "alpha").unwrap();
        std::fs::write(folder.join("in/sub/b"), "beta").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.join("in/link")).unwrap();
        let mut parts = Vec::new();
        collect(&folder.join("in"), "in", &mut parts).unwrap();
        collect(&folder.join("nothing"), "nothing", &mut parts).unwrap();
        let path = folder.join("x.tar");
        let mut writing = Writing::new(File::create(&path).unwrap());
        parts.iter().for_each(|part| writing.add(part, &mut |_| {}).unwrap());
        writing.finish().unwrap();
        path
    }

    #[test]
    fn what_goes_in_comes_out_and_links_stay_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = made(folder.path());
        let names: Vec<String> =
            check(&path).unwrap().entries.into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["in/a", "in/sub/b"]);
        let out = folder.path().join("out");
        unpack(&path, &out).unwrap();
        assert_eq!(std::fs::read_to_string(out.join("in/sub/b")).unwrap(), "beta");
    }

    #[test]
    fn a_changed_or_cut_archive_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = made(folder.path());
        let bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(5).position(|w| w == b"alpha").unwrap();
        let mut changed = bytes.clone();
        changed[at] = b'x';
        for bad in [&changed[..], &bytes[..600], &bytes[..1_600], &[0; 1_024], b"no archive"] {
            std::fs::write(&path, bad).unwrap();
            assert!(check(&path).is_err(), "{} bytes", bad.len());
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["../a", "/etc/passwd", "a/../../b", "./a", ""] {
            assert_eq!(safe(Path::new(name)), None, "{name}");
        }
        assert_eq!(safe(Path::new("a/b")), Some("a/b".to_owned()));
    }
}
