// Apart from `index.ts`, so that a command that needs no settings does not load the validator behind these.
export {
  describeProblem,
  isNamed,
  onOrOff,
  parsedBy,
  readVariables,
  SettingsError,
} from './settings/read-variables.ts';
export {
  findStorageConflicts,
  readStorageSettings,
  STORAGE_VARIABLES,
  type StorageSettings,
  toStorageSettings,
} from './settings/storage-settings.ts';
