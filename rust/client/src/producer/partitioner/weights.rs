//! Weights by which the next sticky partition is chosen. No I/O; queue lengths, leaders and the
//! random number are arguments.
//!
//! Invariants: a partition whose broker is unavailable is chosen only if all are; with rack
//! awareness, one in another rack only if no leader in the client's rack is available. Among the
//! rest, the weight falls with the queue length and is never zero.

/// The load of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionLoad {
    /// The partition's index.
    pub partition: i32,
    /// Whether it has a leader that accepts batches.
    pub available: bool,
    /// Whether its leader is in the client's rack.
    pub in_rack: bool,
    /// The number of batches that wait to be sent.
    pub queued_batches: usize,
}

/// Partitions and their cumulative weights (`PartitionLoadStats` in the Java client).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionWeights {
    partitions: Vec<i32>,
    ends: Vec<u64>,
}

/// The candidates: the available partitions, of these the ones in the client's rack; all, if none is
/// available.
fn eligible(loads: &[PartitionLoad]) -> impl Iterator<Item = &PartitionLoad> {
    let available = loads.iter().any(|load| load.available);
    let in_rack = loads.iter().any(|load| load.available && load.in_rack);
    loads.iter().filter(move |load| (load.available || !available) && (load.in_rack || !in_rack))
}

impl PartitionWeights {
    /// The weights of Java's adaptive partitioner: the length of the longest queue, minus that of the
    /// partition's own, plus one.
    #[must_use]
    pub fn adaptive(loads: &[PartitionLoad]) -> Self {
        let longest = eligible(loads).map(|load| load.queued_batches).max().unwrap_or_default();
        Self::of(loads, |load| (longest - load.queued_batches.min(longest)) as u64 + 1)
    }

    /// The same weight for each candidate.
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

    /// Picks a partition with a random number in `0.0..1.0`; `None` if there are no partitions.
    #[must_use]
    pub fn pick(&self, random: f64) -> Option<i32> {
        let total = *self.ends.last()?;
        let point = ((random * total as f64) as u64).min(total.saturating_sub(1));
        self.partitions.get(self.ends.partition_point(|end| *end <= point)).copied()
    }
}
