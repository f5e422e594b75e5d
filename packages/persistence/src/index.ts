export { PURPOSES, type Purpose } from './database/database.ts';
export { describeStorageFailure } from './database/storage-reason.ts';
export type { OrderEventStore } from './events/order-events.ts';
export type { ImportItem, ImportOptions, ImportResult, ImportSource, RejectedRecord } from './import-rows.ts';
export type { ApiKeyReason } from './keys/key-administration.ts';
export { type DatabaseLoad, openPersistence, type Persistence, type PingResult } from './persistence.ts';
export { describeDenial } from './role-error.ts';
export type { Migrations } from './schema/migrations.ts';
export { NewerDatabaseError, SchemaError } from './schema/schema-error.ts';
