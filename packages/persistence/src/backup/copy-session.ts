import type { SessionSettings } from '../connections/session.ts';

/** What the text of COPY depends on; and both ends may take any time, and wait for each other. */
export const COPY_SESSION: SessionSettings = {
  client_encoding: 'UTF8',
  bytea_output: 'hex',
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
};
