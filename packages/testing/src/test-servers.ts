/** What the servers of a test run are reached by. Passed to the test files by vitest's `provide`. */
export interface TestServers {
  /** Superuser, database `postgres`. */
  readonly postgresUrl: string;
  readonly redisUrl: string;
  /** Removed when the run ends, with every process that is named in `processFolder`. */
  readonly temporaryFolder: string;
  /** Holds one empty file per process that must not outlive the run, named by its pid. */
  readonly processFolder: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly testServers: TestServers;
  }
}
