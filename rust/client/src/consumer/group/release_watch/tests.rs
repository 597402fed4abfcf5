use ottla_protocol::wire::Uuid;

use super::*;

fn set(numbers: &[i32]) -> BTreeSet<TopicIdPartition> {
    numbers.iter().map(|number| (Uuid::default(), *number)).collect()
}

/// A member and the time since it was made.
struct Scene {
    watch: ReleaseWatch,
    began: Instant,
    epoch: i32,
    has: BTreeSet<TopicIdPartition>,
}

impl Scene {
    fn new() -> Self {
        let began = Instant::now();
        Self { watch: ReleaseWatch::new(began), began, epoch: 1, has: set(&[]) }
    }

    fn poll(&mut self, millis: u64) -> Option<WatchStep> {
        let assigned = Assigned { epoch: self.epoch, partitions: Some(&self.has) };
        self.watch.poll(self.began + Duration::from_millis(millis), Some(assigned))
    }

    fn describe(&mut self, millis: u64, missing: Option<&[i32]>) -> Option<WatchStep> {
        let assigned = Assigned { epoch: self.epoch, partitions: Some(&self.has) };
        let now = self.began + Duration::from_millis(millis);
        self.watch.process_description(now, missing.map(set), Some(assigned))
    }

    fn due(&self) -> Option<u128> {
        self.watch.next_due().map(|due| (due - self.began).as_millis())
    }
}

const fn seconds(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn missing_partitions_are_reported_within_two_seconds_until_they_come() {
    let mut scene = Scene::new();
    assert_eq!((scene.poll(0), scene.due()), (None, Some(1_500)));
    assert_eq!(scene.poll(1_500), Some(WatchStep::Describe));
    assert_eq!((scene.poll(1_600), scene.due()), (None, None), "one description at a time");
    assert_eq!(scene.describe(1_700, Some(&[0, 1])), Some(WatchStep::Warn(seconds(1_700))));
    assert_eq!(scene.due(), Some(11_700), "looked at again with the next warning");
    scene.has = set(&[0]);
    assert_eq!(scene.poll(3_000), None);
    scene.has = set(&[0, 1]);
    assert_eq!(scene.poll(9_000), Some(WatchStep::Over(seconds(9_000))));
    assert_eq!((scene.poll(60_000), scene.due()), (None, None));
}

#[test]
fn a_member_without_a_target_stays_quiet_until_the_epoch_changes() {
    let mut scene = Scene::new();
    scene.poll(0);
    assert_eq!(scene.poll(1_500), Some(WatchStep::Describe));
    assert_eq!((scene.describe(1_510, Some(&[])), scene.due()), (None, None));
    scene.epoch = 2;
    assert_eq!((scene.poll(2_000), scene.due()), (None, Some(6_500)), "with a pause");
    scene.epoch = 3;
    assert_eq!((scene.poll(6_000), scene.due()), (None, Some(6_500)), "changes do not put it off");
    assert_eq!(scene.poll(6_500), Some(WatchStep::Describe));
    assert_eq!(scene.describe(6_510, Some(&[4])), Some(WatchStep::Warn(seconds(510))));
}

#[test]
fn a_member_with_its_partitions_is_described_once() {
    let mut scene = Scene::new();
    scene.has = set(&[0, 1]);
    scene.poll(0);
    assert_eq!(scene.poll(1_500), Some(WatchStep::Describe));
    assert_eq!(scene.describe(1_510, Some(&[])), None);
    for epoch in 2..100 {
        scene.epoch = epoch;
        assert_eq!(scene.poll(2_000 + 10_000 * u64::from(epoch.unsigned_abs())), None);
    }
    assert_eq!(scene.due(), None);
}

#[test]
fn partitions_that_arrived_since_the_request_are_not_missing() {
    let mut scene = Scene::new();
    scene.poll(0);
    scene.poll(1_500);
    scene.has = set(&[0]);
    assert_eq!(scene.describe(1_600, Some(&[0])), None);
}

#[test]
fn a_changed_target_ends_the_wait() {
    let mut scene = Scene::new();
    scene.poll(0);
    scene.poll(1_500);
    scene.describe(1_600, Some(&[0]));
    scene.epoch = 2;
    assert_eq!((scene.poll(8_000), scene.due()), (None, Some(9_500)));
    assert_eq!(scene.poll(9_500), Some(WatchStep::Describe));
    assert_eq!(scene.describe(9_600, Some(&[])), Some(WatchStep::Over(seconds(9_600))));
}

#[test]
fn a_refused_description_is_no_warning_and_is_not_repeated_without_bound() {
    let mut scene = Scene::new();
    scene.poll(0);
    scene.poll(1_500);
    assert_eq!(scene.describe(1_600, None), Some(WatchStep::Unknown));
    assert_eq!(scene.poll(6_500), Some(WatchStep::Describe));
    assert_eq!(scene.describe(6_600, None), None);
    assert_eq!(scene.poll(11_500), Some(WatchStep::Describe));
    assert_eq!((scene.describe(11_600, None), scene.due()), (None, None));
}

#[test]
fn a_member_that_left_is_not_described() {
    let mut scene = Scene::new();
    scene.poll(0);
    let now = scene.began + Duration::from_secs(1);
    assert_eq!((scene.watch.poll(now, None), scene.due()), (None, None));
}
