export { BackupError } from './backup/backup-error.ts';
export { type BackupCounts, type BackupHeader, countsOf, totalRowsOf } from './backup/backup-header.ts';
export type { BackupStore } from './backup/backup-store.ts';
export { inspectBackup } from './backup/read-backup.ts';
export type { RestoreOptions } from './backup/restore-tables.ts';
export type { OpenBackup, SaveOptions } from './backup/save-tables.ts';
export { ImportConflictError } from './bulk/batch-inserter.ts';
export type { GenerateOptions } from './bulk/generate-orders.ts';
export type { ImportOptions, ImportRecord, ImportResult, ImportSource } from './bulk/import-rows.ts';
export { REJECTED_LISTED_MAX, type RejectedRecord } from './bulk/rejected-record.ts';
export type { OrderEventObserver, OrderEventStore } from './events/order-events.ts';
export type { AuditTrail, BanEvent } from './keys/audit-trail.ts';
export type {
  ApiKeyAdministration,
  ApiKeyReason,
  KeyRotation,
  NewApiKey,
} from './keys/key-administration.ts';
export {
  openPersistence,
  type Persistence,
  type PersistenceOptions,
  type PingResult,
  POOL_NAMES,
  type PoolName,
  type PoolReport,
} from './persistence.ts';
export type { PetStore } from './pets/pet-store.ts';
export { describeDenial } from './role-error.ts';
export type { MigrationStatus, Migrations } from './schema/create-migrations.ts';
export { NewerDatabaseError, SchemaError } from './schema/schema-error.ts';
export type { OrderStore } from './statements/order-store.ts';
export type { ReplicaReport, ReplicaState } from './statements/replica.ts';
export { describeStorageFailure } from './storage-reason.ts';
