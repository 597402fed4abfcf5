//! What Python's garbage collector sees: the application's objects that a client refers to.
//!
//! A client that the application has forgotten is collected with the callables that refer to it.
//!
//! Invariants: one Python object visits each reference. A reference that tasks of the core share is visited by the
//! object that it was passed to, and only while no task may still call it. The collector traverses an object several
//! times and must not miss a reference that it has found before, so nothing hides one without the GIL: a lock around
//! references is taken by threads with the GIL alone, or ([`visit_locked`]) its holders never wait for the GIL.

use std::collections::VecDeque;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

/// The result of a traversal.
pub(crate) type Visited = Result<(), PyTraverseError>;

/// Something that holds references to Python objects.
pub(crate) trait Traverse {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited;
}

impl<T> Traverse for Py<T> {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        visit.call(self)
    }
}

impl<T: Traverse> Traverse for Option<T> {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.iter().try_for_each(|held| held.traverse(visit))
    }
}

impl<T: Traverse> Traverse for [T] {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.iter().try_for_each(|held| held.traverse(visit))
    }
}

impl<T: Traverse> Traverse for VecDeque<T> {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.iter().try_for_each(|held| held.traverse(visit))
    }
}

/// Only threads with the GIL take such a lock. It is held during a collection only if its holder started that, and
/// then throughout: nothing of it is visited.
impl<T: Traverse> Traverse for Mutex<T> {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.try_lock().map_or(Ok(()), |held| held.traverse(visit))
    }
}

/// Visits what a lock guards that threads without the GIL take, too. Its holders neither wait for the GIL nor create
/// or drop Python objects, and without the GIL they only add references.
pub(crate) fn visit_locked<T: Traverse>(lock: &Mutex<T>, visit: &PyVisit<'_>) -> Visited {
    lock.lock().traverse(visit)
}
