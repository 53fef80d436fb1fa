/** PouchDB without storage of its own, which replicates over HTTP. The plugins are added here once: adding one again fails. */
import HttpAdapter from 'pouchdb-adapter-http';
import MemoryAdapter from 'pouchdb-adapter-memory';
import PouchDB from 'pouchdb-core';
import Replication from 'pouchdb-replication';

PouchDB.plugin(HttpAdapter).plugin(MemoryAdapter).plugin(Replication);

export { PouchDB };
