//! Finds out what became of a commit whose answer was lost. It is never sent again.

use std::time::Duration;

use armarius_core::event::Commit;
use armarius_engine::seam::StoreError;

use super::desk::{Desk, Mode};
use super::fault::{Answer, fault};
use super::wire::{Kind, Script};
use crate::clock::tick;

/// Between two tries to reach the database.
const PAUSE: Duration = Duration::from_millis(100);

const FIND: &str = "select 1 from \"commit\" where shard = $1 and n = $2 and seal = $3";
// What is found may not have reached a standby that was being waited for. A change after it that is
// acknowledged has, and so has everything before it.
const FOLLOW: &str = "update shard set system = system where shard = $1";

/// Whether the commit is there, once nobody can be making it any more. The shard's lock says that:
/// whoever tried held it, and has let go.
pub(super) fn resolve(
    desk: &mut Desk,
    commit: &Commit,
    why: &str,
    patience: Duration,
) -> Answer<()> {
    let until = tick() + patience;
    loop {
        match is_there(desk, commit) {
            Ok(true) => return Ok(()),
            Ok(false) => {
                return Err(StoreError::Unavailable(format!("the commit was not made: {why}")));
            }
            Err(error) if tick() >= until => {
                let n = commit.n;
                return Err(StoreError::Unknown(format!(
                    "the answer to commit {n} was lost ({why}), and the database cannot be asked: \
                     {error}"
                )));
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn is_there(desk: &mut Desk, commit: &Commit) -> Answer<bool> {
    let shard = i64::from(desk.shards.first().copied().unwrap_or_default());
    let words = std::mem::take(&mut desk.words);
    let begun = desk.begin(Mode::Write, |script: &mut Script| {
        script.with(Kind::I2, shard)?.with(Kind::I8, commit.n)?.with(Kind::Bytes, &commit.seal)?;
        script.ask(FIND)?;
        Ok(())
    });
    // What the commit added to them is there if the commit is.
    desk.words = words;
    let replies = begun?.unwrap_or_default();
    if replies.first().is_none_or(|reply| reply.rows.is_empty()) {
        desk.abandon();
        return Ok(false);
    }
    let mut script = Script::default();
    script.with(Kind::I2, shard)?.ask(FOLLOW)?;
    desk.run(script)?;
    let mut script = Script::default();
    script.ask("select set_config('statement_timeout', '0', true)")?.ask("commit")?;
    desk.exchange(script, desk.pool.patience.commit).map_err(fault)?;
    match desk.warning() {
        None => Ok(true),
        Some(warning) => Err(StoreError::Unavailable(warning)),
    }
}
