import type { Reference, ReferenceOptions } from './reference.ts';

/** Creates the site. The first request loads its libraries, because a server starts sooner without them, and reads its files. */
export function createReference(options: ReferenceOptions): Reference {
  let site: Reference | undefined;
  return {
    async respond(request) {
      const { openSite } = await import('./open-site.ts');
      site ??= openSite(options);
      return site.respond(request);
    },
  };
}
