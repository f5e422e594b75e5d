const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * @returns what PostgreSQL denies to the role that is logged in, in one line; `undefined` if the error is no denial
 */
export function describeDenial(error: unknown): string | undefined {
  // pg throws it; MikroORM wraps it and keeps the code.
  const isDenial = error instanceof Error && 'code' in error && error.code === INSUFFICIENT_PRIVILEGE;
  return isDenial ? `${error.message}; it takes a role like petstore_server (docs/operations.md, "Roles")` : undefined;
}
