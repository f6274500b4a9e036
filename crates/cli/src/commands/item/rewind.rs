//! `armarius rewind`, `armarius item rewind`: an item goes back on the assembly line.

use std::process::ExitCode;

use armarius_wire::v1::item::{Rewind, Rewound};

use crate::connect::{Steering, Way};
use crate::paper;

/// Makes an item's events from one on invisible to robots, so that they are woken anew.
///
/// Nothing is erased: the events stay in the history, and one more says who rewound, and why. Work
/// in progress whose trigger is gone by that loses its right to report.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// collection/kind/key
    item: String,
    /// From this event on, that one included: its name, or its number in the history; without it,
    /// from the first failure
    #[arg(long, value_name = "EVENT")]
    from: Option<String>,
    /// Why
    #[arg(long, default_value = "")]
    reason: String,
    #[command(flatten)]
    steering: Steering,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let number = args.from.as_deref().and_then(|from| from.parse().ok());
    let from = args.from.filter(|_| number.is_none());
    let rewind = Rewind { item: args.item, from, from_number: number, reason: args.reason };
    if !args.steering.only_told(Way::Post, "items/rewind", &rewind)? {
        let client = args.steering.connection.client()?;
        let rewound: Rewound = client.post("items/rewind", &rewind)?;
        paper::show(args.steering.connection.json, &rewound, |rewound| {
            format!("event {}: robots no longer see {}", rewound.n, rewound.hidden.join(", "))
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
