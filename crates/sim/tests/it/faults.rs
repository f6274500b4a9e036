//! Disks that fail, fill up, lie or rot: the engine stops or waits, and never answers wrongly.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::time::{Duration, Instant};

use armarius_core::refusal::Code;
use armarius_core::reply::Reply;
use armarius_engine::exit::{DISK, UNUSABLE};
use armarius_engine::{EngineError, Outcome};
use armarius_sim::bench::{open_file_with, without_duties};
use armarius_sim::{Bench, Dice, Player, fan};
use armarius_store::World;

use crate::crash::{SEED, come_back, go_on, is_whole, load_until, points, story, strs, words};
use crate::differential::{complaints, equal, sound};
use crate::room::{folder, open_file};
use crate::soak::is_wanted;
use crate::tracer::{SYNCS, count, run, run_injected};

/// Bytes of a page of the files here.
const PAGE_BYTES: u64 = 4_096;

/// Flipped bits of a thousand that may go unseen.
const SILENT_PER_MILLE_MAX: usize = 90;

/// A file that was opened once, and the number of calls a whole story makes on such a file.
fn counted(place: &Path, call: &str) -> (PathBuf, usize, usize) {
    let path = place.join("counted.db");
    drop(open_file(&path));
    let counts = count(&strs(&words(&path)), &place.join("log"));
    let of = |thread: usize| counts[thread].get(call).copied().unwrap_or(0);
    (place.join("log"), of(0), of(1))
}

/// Fails one call; the driver must end with the disk's code, and say nothing afterwards.
fn fail_at(call: &str, n: usize) {
    let place = folder();
    let path = place.path().join("a.db");
    let log = place.path().join("log");
    drop(open_file(&path));
    let inject = format!("{call}:error=EIO:when={n}");
    let run = run_injected(&strs(&words(&path)), &inject, Some(&log));
    let text = format!("{call} {n} failed ({} acknowledged)", run.acks());
    assert_eq!(run.code, Some(i32::from(DISK)), "{text}: {}", run.complaint);
    let log = std::fs::read_to_string(&log).unwrap();
    let (before, after) = log.split_once("(INJECTED)").expect("an injected failure");
    let mut calls = before.lines().rev();
    let failed = calls.next().unwrap_or_default();
    let said = after.lines().filter(|l| l.contains("write(1<") && l.contains("\"ack ")).count();
    // What a checkpoint moves into the file was durable, and so acknowledged, before. It syncs the
    // log too, but unlike a commit it has not written to it.
    let last_on_log = calls.find(|line| line.contains("-wal>")).unwrap_or_default();
    let is_commit = failed.contains("-wal>")
        && (failed.contains("pwrite64(") || last_on_log.contains("pwrite64("));
    let allowed = usize::from(!is_commit);
    assert!(said <= allowed, "{text}: {said} acknowledgements after {failed}");
    let from = come_back(&path, run.acks(), &text);
    go_on(&path, from, &text);
}

#[test]
fn a_failed_sync_stops_the_lane_for_good() {
    let place = folder();
    let mut tried = 0;
    for call in SYNCS {
        let (_, opening, last) = counted(place.path(), call);
        for n in points(last, 8).into_iter().filter(|n| *n > opening) {
            fail_at(call, n);
            tried += 1;
        }
    }
    assert!(tried >= 6, "only {tried} syncs");
}

#[test]
fn a_failed_write_stops_the_lane_for_good() {
    let place = folder();
    let (_, opening, last) = counted(place.path(), "pwrite64");
    for n in points(last, 6).into_iter().filter(|n| *n > opening) {
        fail_at("pwrite64", n);
    }
}

/// The disk is full from one write to another: what needs room is refused meanwhile, nothing is
/// left by half, and when there is room again the story ends as if nothing had happened.
#[test]
fn a_disk_that_is_full_for_a_while_changes_nothing_in_the_end() {
    let place = folder();
    let (_, opening, last) = counted(place.path(), "pwrite64");
    for first in points(last, 4).into_iter().filter(|n| *n > opening && *n < last) {
        let place = folder();
        let path = place.path().join("a.db");
        drop(open_file(&path));
        let mut words = words(&path);
        "full".clone_into(&mut words[0]);
        let inject = format!("pwrite64:error=ENOSPC:when={first}..{}", first + 2);
        let run = run_injected(&strs(&words), &inject, None);
        assert_eq!(run.code, Some(0), "full from write {first}: {}", run.complaint);
        let (store, _) = open_file(&path);
        store.verify_everything().unwrap();
        let text = format!("full from write {first}");
        equal(&story().tape.world, &store.dump().unwrap(), &text);
    }
}

/// A small file system of its own, unmounted at the end.
struct Mount(PathBuf);

impl Mount {
    fn small(place: &Path) -> Option<Self> {
        Self::with(place.join("small"), &["-t", "tmpfs", "-o", "size=24m", "tmpfs"])
    }

    fn image(place: &Path, image: &Path) -> Option<Self> {
        let image = image.display().to_string();
        Self::with(place.join("image"), &["-t", "ext4", "-o", "loop", &image])
    }

    fn with(target: PathBuf, words: &[&str]) -> Option<Self> {
        std::fs::create_dir_all(&target).unwrap();
        let done = Process::new("mount").args(words).arg(&target).output().ok()?;
        if !done.status.success() {
            eprintln!("skipped: no mount: {}", String::from_utf8_lossy(&done.stderr));
            return None;
        }
        Some(Self(target))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let done = Process::new("umount").arg(&self.0).status().is_ok_and(|s| s.success());
        if !done {
            // Somebody still looks at it: it goes when they do.
            drop(Process::new("umount").arg("-l").arg(&self.0).status());
        }
    }
}

fn is_refused_for_room(outcome: &Outcome) -> bool {
    matches!(outcome, Err(EngineError::Refused(refusal)) if refusal.code == Code::StoreFull)
}

/// Asks until the answer is as wanted; the store looks at its room about once a second.
fn until(mut ask: impl FnMut() -> Outcome, wanted: impl Fn(&Outcome) -> bool) {
    let began = Instant::now();
    loop {
        let outcome = ask();
        if wanted(&outcome) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{outcome:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn on_a_full_disk_running_work_is_reported_and_new_work_waits() {
    let place = folder();
    let Some(small) = Mount::small(place.path()) else { return };
    let path = small.0.join("a.db");
    let (store, hand) = open_file_with(&path, 2 << 20).unwrap();
    let bench = Bench::start(Box::new(store), hand, 1, without_duties()).unwrap();
    let mut next = 0;
    let mut submit = || {
        next += 1;
        bench.play(next, &fan::step(fan::submit(&format!("i{next}"), Vec::new(), None)))
    };
    for step in fan::home() {
        bench.play(0, &step).unwrap();
    }
    (0..50).for_each(|_| drop(submit().unwrap()));
    let Ok(Reply::Claimed(Some(granted))) = bench.play(99, &fan::claim(50)) else { panic!() };
    let filler = small.0.join("filler");
    let mut file = OpenOptions::new().create(true).append(true).open(&filler).unwrap();
    while file.write_all(&[0; 4_096]).is_ok() {}
    drop(file);
    until(&mut submit, is_refused_for_room);
    for report in fan::reports(&granted) {
        let outcome = bench.play(100, &report);
        assert!(matches!(outcome, Ok(Reply::Reported(_))), "{outcome:?}");
    }
    assert!(is_refused_for_room(&submit()), "new work while the disk is full");
    std::fs::remove_file(&filler).unwrap();
    until(&mut submit, Result::is_ok);
    bench.engine.stop().unwrap();
    let (store, _) = open_file(&path);
    store.verify_everything().unwrap();
    let world = store.dump().unwrap();
    sound(&world);
    let done = world.tasks.values().filter(|t| t.state == armarius_core::task::State::Done);
    assert_eq!(done.count(), 50);
    drop(store);
}

#[test]
fn a_second_process_on_the_same_file_is_refused() {
    let place = folder();
    let path = place.path().join("a.db");
    let (store, hand) = open_file(&path);
    let mut player = Player::new(store, hand, SEED, 0);
    player.play(&story().tape.steps[0]).unwrap().unwrap();
    let second = run(&strs(&words(&path)));
    assert_eq!(second.code, Some(i32::from(UNUSABLE)), "{second:?}");
    assert!(second.complaint.contains("in use by process"), "{}", second.complaint);
    player.play(&story().tape.steps[1]).unwrap().unwrap();
    drop(player);
    let (store, _) = open_file(&path);
    equal(&story().worlds[2], &store.dump().unwrap(), "after a second process was refused");
}

/// What a damaged file does: it is found out, or what it says is what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    /// The file is not opened, or reading it ends with an error.
    Refused,
    /// SQLite's own check finds it.
    Pages,
    /// The hashes of the history find it.
    History,
    /// Rows contradict each other or the history.
    Rows,
    /// Everything reads as it was written.
    None,
    /// It reads otherwise than it was written, and nobody notices.
    Silent,
}

/// Flips one bit of a copy and looks what is noticed, as the doctor does.
fn flipped(source: &Path, wanted: &World, offset: u64) -> Damage {
    let place = folder();
    let path = place.path().join("a.db");
    std::fs::copy(source, &path).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 0x04], offset).unwrap();
    drop(file);
    let Ok((store, _)) = armarius_sim::bench::open_file(&path) else { return Damage::Refused };
    let Ok(found) = store.dump() else { return Damage::Refused };
    if store.verify_pages().map_or(true, |wrong| !wrong.is_empty()) {
        return Damage::Pages;
    }
    if store.verify_everything().is_err() {
        return Damage::History;
    }
    if found == *wanted {
        return Damage::None;
    }
    if !complaints(&found).is_empty() {
        return Damage::Rows;
    }
    // Whatever else, history never reads otherwise than it was written.
    assert_eq!(found.events, wanted.events, "bit at {offset}");
    assert_eq!(found.commits, wanted.commits, "bit at {offset}");
    Damage::Silent
}

/// A flipped bit anywhere in the file. History, structure and indexes never lie. What no hash
/// covers are columns that no other row repeats, such as a payload or a time; they are counted
/// here, so that their share can only fall.
#[test]
fn a_flipped_bit_is_found_or_harmless() {
    let place = folder();
    let path = place.path().join("source.db");
    let (store, hand) = open_file(&path);
    let mut player = Player::new(store, hand, SEED, 0);
    for step in &story().tape.steps {
        drop(player.play(step).unwrap());
    }
    drop(player);
    let bytes = std::fs::metadata(&path).unwrap().len();
    let mut counts: BTreeMap<Damage, usize> = BTreeMap::new();
    let mut dice = Dice::new(5);
    for page in 0..bytes / PAGE_BYTES {
        // The head of the page, and places in it where cells are likely.
        let mut offsets = vec![0, 3, 5, 8, PAGE_BYTES - 1, PAGE_BYTES - 9, PAGE_BYTES - 40];
        let more = if is_wanted() { 60 } else { 2 };
        offsets.extend((0..more).map(|_| dice.roll() % PAGE_BYTES));
        for offset in offsets {
            let damage = flipped(&path, &story().tape.world, page * PAGE_BYTES + offset);
            *counts.entry(damage).or_default() += 1;
        }
    }
    let all: usize = counts.values().sum();
    let of = |damage: Damage| counts.get(&damage).copied().unwrap_or(0);
    assert!(of(Damage::Silent) * 1_000 <= all * SILENT_PER_MILLE_MAX, "{counts:?}");
    let found = [Damage::Refused, Damage::Pages, Damage::History, Damage::Rows].map(of);
    assert!(found.iter().all(|n| *n > 0), "{counts:?}");
}

/// A power cut, as the file system sees it: what was not synced is gone. Needs root, loop devices
/// and python, so only a soak tries it.
#[test]
fn a_power_cut_loses_nothing_that_was_acknowledged() {
    if !is_wanted() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let image = place.path().join("disk");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let done = Process::new("mkfs.ext4").arg("-q").arg(&image).status().unwrap();
    assert!(done.success(), "mkfs.ext4");
    let mut dice = Dice::new(7);
    for life in 0..30 {
        let Some(disk) = Mount::image(place.path(), &image) else { return };
        let path = disk.0.join("a.db");
        let (sum, cut) = (1 + dice.below(400), disk.0.clone());
        let acked = load_until(&path, life, sum, |_| cut_power(&cut));
        drop(disk);
        let Some(disk) = Mount::image(place.path(), &image) else { return };
        let (store, _) = open_file(&disk.0.join("a.db"));
        store.verify_everything().unwrap();
        let world = store.dump().unwrap();
        sound(&world);
        for key in &acked {
            assert!(is_whole(&world, key), "life {life}: {key} was acknowledged and is not there");
        }
        drop(store);
    }
}

/// Stops the file system at once, without flushing its journal.
fn cut_power(mount: &Path) {
    let script = "import fcntl, os, struct, sys; \
                  fcntl.ioctl(os.open(sys.argv[1], 0), 0x8004587d, struct.pack('I', 2))";
    let done = Process::new("python3").arg("-c").arg(script).arg(mount).status().unwrap();
    assert!(done.success(), "EXT4_IOC_SHUTDOWN");
}
