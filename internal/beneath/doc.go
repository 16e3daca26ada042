// Package beneath works on folders in which somebody else may change every
// name at any instant: checkouts and caches that commands of an agent have
// written, and could still write should one of their processes be left.
//
// Remove deletes such a folder whatever it holds, by open folders and never by
// a path through it. Fence confines a piece of work, and each program that it
// starts, to folders that it names, so that no link swapped in meanwhile leads
// elsewhere. Foreign tells root where files are of another user, who is left alone.
//
// It does not know what the folders are for, and is no sandbox: what is fenced
// is our own code, which only can be led astray.
package beneath
