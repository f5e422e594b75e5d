/** The driver of every connection, for instrumentation. */
export { default as pg } from 'pg';
export type { Availability } from './database/availability.ts';
export { type DatabaseLoad, PURPOSES, type Purpose } from './database/pool.ts';
export { describeDenial, describeStorageFailure } from './describe-failures.ts';
export type { OrderEventStore } from './events/order-events.ts';
export type { ImportItem, ImportOptions, ImportResult, ImportSource, RejectedRecord } from './import-rows.ts';
export type { ApiKeyReason } from './keys/key-administration.ts';
export { openPersistence, type Persistence } from './persistence.ts';
export type { Migrations } from './schema/migrations.ts';
export { NewerDatabaseError, SchemaError } from './schema/schema-error.ts';
export type { Sequences } from './sequences.ts';
