//! What a lease holds, as it is stored: a JSON array of
//! `[task, token, basis, stopping, deadline, silent_at]`.

use std::fmt::Write as _;

use armarius_core::ids::{TaskId, Time, Token};
use armarius_core::rows::Grip;

pub(crate) fn to_text(grips: &[Grip]) -> String {
    let mut text = String::with_capacity(2 + grips.len() * 48);
    text.push('[');
    for (i, g) in grips.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let stopping = i32::from(g.stopping);
        let Grip { task, token, basis, deadline: Time(deadline), silent_at: Time(silent), .. } = g;
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}[{task},{token},{basis},{stopping},{deadline},{silent}]");
    }
    text.push(']');
    text
}

pub(crate) fn from_text(text: &str) -> Option<Vec<Grip>> {
    let grips: Vec<(i64, i64, i64, u8, i64, i64)> = serde_json::from_str(text).ok()?;
    let grip = |(task, token, basis, stopping, deadline, silent_at)| Grip {
        task: TaskId(task),
        token: Token(token),
        basis,
        stopping: stopping != 0,
        deadline: Time(deadline),
        silent_at: Time(silent_at),
    };
    Some(grips.into_iter().map(grip).collect())
}
