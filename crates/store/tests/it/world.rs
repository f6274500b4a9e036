//! A world can be compared and looked through.

use armarius_core::ids::{BatchId, ItemId, TaskId};
use armarius_engine::seam::Store as _;
use armarius_store::conformance::{Stroke, Trial, sample, scribble, tables_len};
use armarius_store::{Clock, Memory, World};

fn world() -> World {
    let memory = Memory::new();
    let mut trial = Trial::new(Box::new(memory));
    let stroke = |table| Stroke { table, owner: 2, key: 2, variant: Some(1) };
    let strokes: Vec<_> = (0..tables_len()).map(stroke).collect();
    scribble(&mut trial.view, &strokes);
    trial.view.events.push(sample::event(2, 1, 1));
    trial.view.keep();
    let mut world = World::default();
    let commit = armarius_core::event::seal(1, trial.now, [0; 32], &trial.view.events);
    world.apply(&trial.view, &commit);
    world
}

#[test]
fn differences_name_the_row() {
    let (left, mut right) = (world(), world());
    assert_eq!(left.differences(&right).len(), usize::from(left != right));
    right = left.clone();
    right.tasks.get_mut(&TaskId(2)).unwrap().attempts = 77;
    right.batches.clear();
    let found = left.differences(&right);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("tasks TaskId(2): left Task {"), "{found:?}");
    assert!(found[1].starts_with("batches BatchId(2): only left"), "{found:?}");
}

#[test]
fn a_view_of_a_world_needs_nothing() {
    let world = world();
    let view = world.clone().into_view();
    assert_eq!(view.tasks.get(&TaskId(2)).unwrap(), world.tasks.get(&TaskId(2)));
    assert_eq!(view.batches.get(&BatchId(999)), Ok(None));
    assert_eq!(view.heads.get(&ItemId(2)).unwrap().unwrap().n, 1);
    assert_eq!(view.item_tasks.first(&ItemId(1), 5).unwrap().count(), 1);
    assert_eq!(view.item_tasks.first(&ItemId(99), 5).unwrap().count(), 0);
    assert_eq!(view.head.n, 1);
}

#[test]
fn a_store_can_be_made_of_a_world() {
    let world = world();
    let (clock, _) = Clock::hand(armarius_core::ids::Time(5));
    let memory = Memory::holding(world.clone(), clock);
    assert_eq!(memory.dump().differences(&world), Vec::<String>::new());
    let mut reader = memory.reader().unwrap();
    assert_eq!(reader.events(ItemId(2), 0, 9).unwrap().len(), 1);
}
