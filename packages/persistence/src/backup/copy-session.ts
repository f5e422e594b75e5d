import { LONG_SESSION, type SessionSettings } from '../connections/session.ts';

/** What the text of COPY depends on. */
export const COPY_SESSION: SessionSettings = {
  client_encoding: 'UTF8',
  bytea_output: 'hex',
  ...LONG_SESSION,
};
