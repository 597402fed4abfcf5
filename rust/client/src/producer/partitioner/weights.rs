//! How likely each partition is the next for records without a key. No I/O; queue lengths, leaders
//! and the random number are arguments.
//!
//! Invariants: a partition without a leader, or on a broker that takes nothing, is chosen only if all
//! are so; with rack awareness, one in another rack only if none in ours can be. Among the rest the
//! chance falls with the length of the queue, and is never zero.

/// A partition that may be the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionLoad {
    /// Its number.
    pub partition: i32,
    /// Whether it has a leader, to which batches can be sent.
    pub available: bool,
    /// Whether that is in the client's rack.
    pub in_rack: bool,
    /// How many batches wait for it.
    pub queued_batches: usize,
}

/// Partitions and their chances, as running sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionWeights {
    partitions: Vec<i32>,
    ends: Vec<u64>,
}

/// Those that may be chosen: the available ones, of these the in_rack ones; or all, if none is available.
fn eligible(loads: &[PartitionLoad]) -> impl Iterator<Item = &PartitionLoad> {
    let available = loads.iter().any(|load| load.available);
    let in_rack = loads.iter().any(|load| load.available && load.in_rack);
    loads.iter().filter(move |load| (load.available || !available) && (load.in_rack || !in_rack))
}

impl PartitionWeights {
    /// The chances that Java's adaptive partitioner gives: each partition weighs what its queue is
    /// shorter than the longest one, plus one.
    #[must_use]
    pub fn adaptive(loads: &[PartitionLoad]) -> Self {
        let longest = eligible(loads).map(|load| load.queued_batches).max().unwrap_or_default();
        Self::of(loads, |load| (longest - load.queued_batches.min(longest)) as u64 + 1)
    }

    /// The same chance for each.
    #[must_use]
    pub fn uniform(loads: &[PartitionLoad]) -> Self {
        Self::of(loads, |_| 1)
    }

    fn of(loads: &[PartitionLoad], weight: impl Fn(&PartitionLoad) -> u64) -> Self {
        let mut end = 0_u64;
        let rows = eligible(loads).map(|load| {
            end = end.saturating_add(weight(load));
            (load.partition, end)
        });
        let (partitions, ends) = rows.unzip();
        Self { partitions, ends }
    }

    /// The partition that a random number in `0.0..1.0` stands for; `None` if there are none.
    #[must_use]
    pub fn pick(&self, random: f64) -> Option<i32> {
        let total = *self.ends.last()?;
        let point = ((random * total as f64) as u64).min(total.saturating_sub(1));
        self.partitions.get(self.ends.partition_point(|end| *end <= point)).copied()
    }
}
