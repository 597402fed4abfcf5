//! Parks a thread until a future wakes it, the time is over, or a signal arrives.
//!
//! Invariants: a wake-up is never lost: one that comes before the thread parks ends the next park at once. On Linux, a
//! signal that reaches the thread ends the park, so that nothing has to look for signals all the time.

use std::sync::Arc;
use std::task::Wake;
use std::time::Duration;

pub(super) use self::system::{Parker, SIGNAL_CHECK};

/// Why a park ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parked {
    /// The future may go on.
    Woken,
    /// A signal interrupted the thread.
    Interrupted,
    TimedOut,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.unpark();
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use rustix::io::Errno;
    use rustix::thread::{Timespec, futex};

    use super::{Duration, Parked};

    /// How often to look for signals that did not interrupt the thread: those that another thread received, or that a
    /// program only simulated, and one that arrived just before the thread parked. Not more often than an idle program
    /// polls: a look needs another thread.
    pub(in crate::runtime) const SIGNAL_CHECK: Duration = Duration::from_secs(1);

    /// The longest park if the system refuses to wait.
    const FALLBACK: Duration = Duration::from_millis(50);

    /// What the thread waits on.
    #[derive(Default)]
    pub(in crate::runtime) struct Parker {
        /// 1 once it was woken.
        is_woken: AtomicU32,
    }

    impl Parker {
        /// A parker of the calling thread.
        pub(in crate::runtime) fn new() -> Self {
            Self::default()
        }

        pub(in crate::runtime) fn park(&self, timeout: Duration) -> Parked {
            if self.is_woken.swap(0, Ordering::Acquire) == 1 {
                return Parked::Woken;
            }
            let Ok(seconds) = timeout.as_secs().try_into() else { return Parked::TimedOut };
            let time = Timespec { tv_sec: seconds, tv_nsec: timeout.subsec_nanos().into() };
            match futex::wait(&self.is_woken, futex::Flags::PRIVATE, 0, Some(&time)) {
                // Woken, or it was before the call.
                Ok(()) | Err(Errno::AGAIN) => {
                    self.is_woken.store(0, Ordering::Relaxed);
                    std::sync::atomic::fence(Ordering::Acquire);
                    Parked::Woken
                }
                Err(Errno::INTR) => Parked::Interrupted,
                Err(Errno::TIMEDOUT) => Parked::TimedOut,
                Err(_) => {
                    thread::sleep(timeout.min(FALLBACK));
                    Parked::TimedOut
                }
            }
        }

        pub(super) fn unpark(&self) {
            if self.is_woken.swap(1, Ordering::Release) == 0 {
                // Nobody waits if it fails: the thread has yet to park.
                let _ = futex::wake(&self.is_woken, futex::Flags::PRIVATE, 1);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::{self, Thread};
    use std::time::Instant;

    use super::{Duration, Parked};

    /// How often to look for signals.
    pub(in crate::runtime) const SIGNAL_CHECK: Duration = Duration::from_millis(50);

    /// What the thread waits on.
    pub(in crate::runtime) struct Parker {
        is_woken: AtomicBool,
        thread: Thread,
    }

    impl Parker {
        /// A parker of the calling thread.
        pub(in crate::runtime) fn new() -> Self {
            Self { is_woken: AtomicBool::new(false), thread: thread::current() }
        }

        pub(in crate::runtime) fn park(&self, timeout: Duration) -> Parked {
            let began = Instant::now();
            while !self.is_woken.swap(false, Ordering::Acquire) {
                let left = timeout.saturating_sub(began.elapsed());
                if left.is_zero() {
                    return Parked::TimedOut;
                }
                thread::park_timeout(left);
            }
            Parked::Woken
        }

        pub(super) fn unpark(&self) {
            if !self.is_woken.swap(true, Ordering::Release) {
                self.thread.unpark();
            }
        }
    }
}
