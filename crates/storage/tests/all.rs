//! All tests of the storage in one program: linking it once takes a fraction of the time of linking one for each file.

mod databases;
mod migrations;
mod open;
mod unreadable;
