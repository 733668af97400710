/** The clock of a process, 13 hours ahead. */
const now = Date.now.bind(Date)
Date.now = () => now() + 13 * 3_600_000
