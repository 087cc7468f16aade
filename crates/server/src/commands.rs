//! Commands for operators, apart from serving.

pub mod admin;
mod audit_export;
pub mod backup;
mod backup_archive;
mod backup_objects;
pub mod check;
pub mod completions;
mod confirmation;
mod database;
pub mod doctor;
pub mod files;
pub mod health;
mod http;
mod key_files;
pub mod manual;
mod quota;
mod registration_tokens;
pub mod rekey;
pub mod restore;
mod sealed_secrets;
mod shared_servers;
mod times;
