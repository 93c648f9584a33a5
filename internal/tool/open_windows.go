package tool

// nonBlocking is nothing here: opening a file does not wait.
const nonBlocking = 0
