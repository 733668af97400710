/** The clock of a process, 11 hours ahead. */
const now = Date.now.bind(Date)
Date.now = () => now() + 11 * 3_600_000
