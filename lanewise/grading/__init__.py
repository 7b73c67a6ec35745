"""One exercise → one verdict: `check` in this process, `grade` in a child process with limits."""
