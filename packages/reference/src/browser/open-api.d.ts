/** The parts of an OpenAPI 3.1 document of ours that pages read or change. */
export interface OpenApiDocument {
  info: { title: string; description: string };
  externalDocs?: unknown;
  servers: Server[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, { description?: string; properties?: Record<string, unknown> }>;
    responses: Record<string, Response>;
    securitySchemes: Record<string, { description?: string }>;
  };
}

export interface Server {
  url: string;
  description?: string;
}

export interface ExternalDocs {
  url: string;
  description?: string;
}

export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: [string];
  externalDocs?: ExternalDocs;
  parameters?: Parameter[];
  responses: Record<string, Response>;
  'x-badges'?: { name: string }[];
  'x-scalar-stability'?: string;
  'x-codeSamples'?: CodeSample[];
}

export interface Response {
  /** Refers to one of the components, in place of all other fields. */
  $ref?: string;
  description?: string;
  content?: Record<string, { schema?: { $ref?: string }; examples?: Record<string, unknown> }>;
}

export interface Parameter {
  name: string;
  in: string;
  example?: unknown;
}

export interface CodeSample {
  lang: string;
  label: string;
  source: string;
}

/** How the page introduces a guide, and links to it. */
export interface GuideSummary {
  title: string;
  summary: string;
  /** Relative to the page. */
  href: string;
}
