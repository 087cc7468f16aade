//! Every test of the server in one program: linking it once takes a fraction of the time that linking one for each file does.

mod account;
mod apps;
mod auth;
mod chat_models;
mod door;
mod elicitations;
mod google_drive;
mod history;
mod hostile;
mod http;
mod lifecycle;
mod long_calls;
mod many_tools;
mod mcp_servers;
mod network;
mod nodes;
mod offers;
mod outages;
mod permissions;
mod rest;
mod routes;
mod sign_in;
mod steering;
mod turns;
mod usage;
mod wires;
