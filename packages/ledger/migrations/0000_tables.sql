CREATE SCHEMA "pawl";
--> statement-breakpoint
CREATE SEQUENCE "pawl"."order_no" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;--> statement-breakpoint
CREATE TABLE "pawl"."actions" (
	"run_id" uuid NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "pawl"."actions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"order_no" bigint DEFAULT nextval('pawl.order_no') NOT NULL,
	"item_seq" integer NOT NULL,
	"key" text NOT NULL,
	"tool" text NOT NULL,
	"tool_version" text NOT NULL,
	"effect" text NOT NULL,
	"status" text NOT NULL,
	"attempt" integer DEFAULT 1 NOT NULL,
	"epoch" integer NOT NULL,
	"token" uuid,
	"sends" integer DEFAULT 1 NOT NULL,
	"refused" integer DEFAULT 0 NOT NULL,
	"args" text NOT NULL,
	"args_digest" text NOT NULL,
	"result" text,
	"evidence" text[] DEFAULT '{}' NOT NULL,
	"applied_evidence" text,
	"error" text,
	"undo" text,
	"undoes" bigint,
	"settled_by" text,
	"timeout_ms" integer NOT NULL,
	"settle_ms" integer NOT NULL,
	"key_expires_at" timestamp (3) with time zone,
	"answerable_at" timestamp (3) with time zone,
	"started_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"committed_at" timestamp (3) with time zone,
	CONSTRAINT "actions_run_id_id_pk" PRIMARY KEY("run_id","id")
);
--> statement-breakpoint
CREATE TABLE "pawl"."events" (
	"run_id" uuid NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "pawl"."events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"item_seq" integer,
	"kind" text NOT NULL,
	"actor" text NOT NULL,
	"data" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "events_run_id_id_pk" PRIMARY KEY("run_id","id")
);
--> statement-breakpoint
CREATE TABLE "pawl"."items" (
	"run_id" uuid NOT NULL,
	"seq" integer NOT NULL,
	"kind" text NOT NULL,
	"key" text NOT NULL,
	"payload" text NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"blocked_reason" text,
	"blocked_detail" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"barren_attempts" integer DEFAULT 0 NOT NULL,
	"epoch" integer DEFAULT 0 NOT NULL,
	"worker_id" uuid,
	"claim_nonce" uuid,
	"lease_until" timestamp (3) with time zone,
	"generation" integer DEFAULT 0 NOT NULL,
	"dispatched_at" timestamp (3) with time zone,
	"available_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"stream_no" integer DEFAULT 0 NOT NULL,
	"allow_new_calls" boolean DEFAULT false NOT NULL,
	"result" text,
	"result_ref" text,
	"error" text,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone,
	CONSTRAINT "items_run_id_seq_pk" PRIMARY KEY("run_id","seq")
);
--> statement-breakpoint
CREATE TABLE "pawl"."ledger" (
	"one" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"id" uuid NOT NULL,
	"system_identifier" text NOT NULL,
	"timeline" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"cleared_at" timestamp (3) with time zone,
	"cleared_by" text,
	CONSTRAINT "ledger_is_one" CHECK ("pawl"."ledger"."one")
);
--> statement-breakpoint
CREATE TABLE "pawl"."records" (
	"run_id" uuid NOT NULL,
	"item_seq" integer NOT NULL,
	"name" text NOT NULL,
	"order_no" bigint DEFAULT nextval('pawl.order_no') NOT NULL,
	"value" text NOT NULL,
	"at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "records_run_id_item_seq_name_pk" PRIMARY KEY("run_id","item_seq","name")
);
--> statement-breakpoint
CREATE TABLE "pawl"."run_keys" (
	"namespace" text NOT NULL,
	"key" text NOT NULL,
	"run_id" uuid NOT NULL,
	"digest" text,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "run_keys_namespace_key_pk" PRIMARY KEY("namespace","key")
);
--> statement-breakpoint
CREATE TABLE "pawl"."runs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"namespace" text NOT NULL,
	"agent" text NOT NULL,
	"agent_version" text NOT NULL,
	"model_version" text,
	"prompt_version" text,
	"schema_version" integer DEFAULT 1 NOT NULL,
	"lock_digest" text,
	"input" text NOT NULL,
	"labels" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"policy" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"status" text NOT NULL,
	"paused" boolean DEFAULT false NOT NULL,
	"items_total" integer DEFAULT 0 NOT NULL,
	"next_seq" integer DEFAULT 1 NOT NULL,
	"stream_no" integer DEFAULT 0 NOT NULL,
	"stream_alive_at" timestamp (3) with time zone,
	"ending" integer DEFAULT 1 NOT NULL,
	"created_by" text NOT NULL,
	"result" text,
	"error" text,
	"created_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "pawl"."sweeper" (
	"one" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"holder" uuid,
	"lease_until" timestamp (3) with time zone,
	"cycles" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "sweeper_is_one" CHECK ("pawl"."sweeper"."one")
);
--> statement-breakpoint
CREATE TABLE "pawl"."workers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"host" text NOT NULL,
	"boot_id" text,
	"pid_namespace" text,
	"pid" integer NOT NULL,
	"pid_started_at" text,
	"serves" jsonb NOT NULL,
	"started_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"heartbeat_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "actions_by_key" ON "pawl"."actions" USING btree ("run_id","key");--> statement-breakpoint
CREATE INDEX "actions_by_item" ON "pawl"."actions" USING btree ("run_id","item_seq");--> statement-breakpoint
CREATE INDEX "actions_in_doubt" ON "pawl"."actions" USING btree ("run_id","id") WHERE status = 'in_doubt';--> statement-breakpoint
CREATE UNIQUE INDEX "items_by_key" ON "pawl"."items" USING btree ("run_id","kind","key");--> statement-breakpoint
CREATE INDEX "items_open" ON "pawl"."items" USING btree ("run_id","status","available_at") WHERE status in ('pending', 'in_progress', 'blocked');--> statement-breakpoint
CREATE INDEX "items_held" ON "pawl"."items" USING btree ("run_id","seq") WHERE status = 'in_progress';--> statement-breakpoint
CREATE UNIQUE INDEX "items_one_finalizer" ON "pawl"."items" USING btree ("run_id") WHERE kind = 'finalize' and status in ('pending', 'in_progress', 'blocked');--> statement-breakpoint
CREATE UNIQUE INDEX "items_one_compensation" ON "pawl"."items" USING btree ("run_id") WHERE kind = 'compensate' and status in ('pending', 'in_progress', 'blocked');--> statement-breakpoint
CREATE INDEX "run_keys_by_run" ON "pawl"."run_keys" USING btree ("run_id");--> statement-breakpoint
CREATE INDEX "runs_by_time" ON "pawl"."runs" USING btree ("namespace","created_at");--> statement-breakpoint
CREATE INDEX "runs_open" ON "pawl"."runs" USING btree ("created_at") WHERE status in ('splitting', 'running', 'finalizing', 'compensating');