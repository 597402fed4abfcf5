"""The proof of the doctor: every set-up with its true cause, and a judge of the verdicts."""
