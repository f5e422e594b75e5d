// Separate from `index.ts`: a command that needs no settings does not load the validator behind these.
export { readSettings, readStorageSettings, SettingsError } from './settings/read-settings.ts';
export {
  type SettingText,
  type SettingValues,
  type StorageSettings,
  settingsSchema,
  storageSchema,
  textOf,
} from './settings/schema.ts';
