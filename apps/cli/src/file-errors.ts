import { describeFileError as describe } from '@petstore/runtime';

/** Why a file cannot be used, for a person to read. */
export const describeFileError = (error: unknown): string =>
  describe(error, { EEXIST: 'its unfinished file is there already' });
